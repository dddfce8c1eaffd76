"""What takes a fitted model elsewhere: files, and exports to other engines."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from neuralrules._readable import ReadableModel

if TYPE_CHECKING:
    import onnx


class PortableModel(ReadableModel):
    """Saved models; ONNX, SQL and Python."""

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the model into a file that `neuralrules.load` reads.

        The file is a safetensors file: arrays and plain text, nothing that could run. It
        holds all that was learned, so a loaded model predicts the same bit for bit, can be
        read and simplified, and can be trained further. Parameters that are no plain data
        (a RandomState, a splitter as `cv`) are left out with a warning.

        Parameters
        ----------
        path : str or path
            The file to write, by convention ``*.nrules``. An old file stays until the new
            one is complete.

        Returns
        -------
        pathlib.Path
            The file written.
        """
        from neuralrules._files import save

        return save(self, path)

    def to_onnx(self, *, missing_text: str = "") -> onnx.ModelProto:
        """The whole model, from raw columns to predictions, for ONNX engines.

        Encoding and imputation are part of it; all operators are standard ones.

        Parameters
        ----------
        missing_text : str, default=""
            Stands for a missing category, because texts in ONNX cannot be missing;
            missing numbers are NaN.

        Returns
        -------
        onnx.ModelProto
            ``.SerializeToString()`` are the bytes of the file.
        """
        from neuralrules._export import to_onnx

        return to_onnx(self, missing_text=missing_text)

    def to_sql(
        self,
        table: str | tuple[str, ...],
        *,
        dialect: str = "postgresql",
        keep: Sequence[str] = (),
    ) -> str:
        """One SELECT that scores a table inside a database.

        NULL counts as missing.

        Parameters
        ----------
        table : str or tuple of str
            Name of the table; a tuple for a qualified one, as ("schema", "table").
        dialect : {"postgresql", "duckdb", "sqlite"}, default="postgresql"
        keep : list of str, default=()
            Columns of the table to have in the result beside the predictions.

        Returns
        -------
        str
            A query without a semicolon at its end, so that it can also be the body of a
            view.
        """
        from neuralrules._export import to_sql

        return to_sql(self, table, dialect=dialect, keep=keep)

    def to_python(self) -> str:
        """One Python module that predicts and needs no package at all.

        Returns
        -------
        str
            Its functions ``predict``, ``decision`` and, for classes learned with
            ``loss="logistic"``, ``predict_proba`` take a row as a dict from column names
            to values, None for missing ones.
        """
        from neuralrules._export import to_python

        return to_python(self)
