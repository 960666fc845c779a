"""The command line: the only place that reads files, prints and exits."""
