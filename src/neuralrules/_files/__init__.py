"""Models in files that hold numbers and plain text, and cannot run code.

`docs/files.md` describes the file format. `_container` turns arrays and a text into bytes and
back. `_save` turns a model into arrays and a text. `_load` and `_parts` turn arrays and a text
into a model again. `_stored` reads a model only for predictions. `_checks` refuses files with
invalid parts.
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
