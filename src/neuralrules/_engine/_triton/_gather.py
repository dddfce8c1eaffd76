"""Rows from anywhere in a table, side by side, column after column."""

from __future__ import annotations

from typing import Any

import triton
import triton.language as tl

ROWS, COLUMNS = 128, 32  # of a program


@triton.jit(do_not_specialize=["n_rows"])
def gather(
    table, numbers, x, n_rows, n_columns, capacity, ROWS: tl.constexpr, COLUMNS: tl.constexpr
):
    """Copy rows of table (n, n_columns) with such numbers (n_rows,) into x, transposed.

    x : (n_columns, capacity)
    """
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    columns = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    number = tl.load(numbers + rows, rows < n_rows, 0).to(tl.int64)
    there = (rows < n_rows)[:, None] & (columns < n_columns)[None, :]
    cells = tl.load(table + number[:, None] * n_columns + columns[None, :], there, 0.0)
    places = columns.to(tl.int64)[None, :] * capacity + rows[:, None]
    tl.store(x + places, cells, there)


def gather_rows(table: Any, numbers: Any, x: Any) -> None:
    """Fill the first columns of x (n_columns, capacity) with rows of table (n, n_columns)."""
    n_columns, capacity = x.shape
    grid = (triton.cdiv(len(numbers), ROWS), triton.cdiv(n_columns, COLUMNS))
    gather[grid](
        table, numbers, x, len(numbers), n_columns, capacity, ROWS=ROWS, COLUMNS=COLUMNS
    )
