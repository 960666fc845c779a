"""Reports drawn for people and programs: a file per form."""
