"""Models in files that hold numbers and plain text, and cannot run code.

The form of the file is described in `docs/files.md`. `_container` turns arrays and a text
into bytes and back; `_save` turns a model into arrays and a text, `_load` and `_parts` turn
these into a model again, `_stored` one to predict with, and `_checks` is what they demand.
"""

from neuralrules._files._checks import Contents
from neuralrules._files._container import ModelFileError
from neuralrules._files._load import contents_of, fitted_from, read_bytes
from neuralrules._files._save import Configuration, save
from neuralrules._files._stored import StoredModel, stored_model

__all__ = [
    "Configuration",
    "Contents",
    "ModelFileError",
    "StoredModel",
    "contents_of",
    "fitted_from",
    "read_bytes",
    "save",
    "stored_model",
]
