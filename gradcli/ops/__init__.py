"""The operators: a file per family, one block per operator (see `gradcli.graph.op`).

Importing this package imports every module in it, which fills `gradcli.graph.REGISTRY`.  So a new operator is one
block in the file of its family, and a new family is a new file.
"""

from importlib import import_module
from pkgutil import iter_modules

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")
