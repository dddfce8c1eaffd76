"""Models in files that hold numbers and plain text, and cannot run code.

`docs/files.md` describes the file format. `_container` turns arrays and a text into bytes and
back. `_save` turns a model into arrays and a text. `_load` and `_parts` turn arrays and a text
into a model again.
"""

from neuralrules._files._container import Contents, ModelFileError
from neuralrules._files._load import StoredModel, fitted_from, read_model, stored_model
from neuralrules._files._save import Configuration, save

__all__ = [
    "Configuration",
    "Contents",
    "ModelFileError",
    "StoredModel",
    "fitted_from",
    "read_model",
    "save",
    "stored_model",
]
