"""The paper's data sets, read from a folder laid out as the pmlb package's cache is."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pandas as pd

VARIABLE = "NEURALRULES_DATA"


def data_folder(given: str | None = None) -> Path:
    """The folder given, else the one named by the environment, else ../shared/data."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(given or os.environ.get(VARIABLE) or beside)
    if not folder.is_dir():
        raise SystemExit(
            f"No data folder at {folder}. Name one with --data or ${VARIABLE}; it must hold "
            "NAME/NAME.tsv.gz for each data set, as pmlb.fetch_data(NAME, local_cache_dir=...) "
            "leaves it."
        )
    return folder


def load(name: str, folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """Features (n_rows, n_columns) float64 and class codes (n_rows,)."""
    table = pd.read_csv(folder / name / f"{name}.tsv.gz", sep="\t")
    y = table.pop("target").to_numpy()
    return table.to_numpy(np.float64), np.unique(y, return_inverse=True)[1]
