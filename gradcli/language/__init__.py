"""Text to statements: the spellings people type, the Python-syntax subset, the faults of syntax."""

from gradcli.language.statements import Part, Program, read

__all__ = ["Part", "Program", "read"]
