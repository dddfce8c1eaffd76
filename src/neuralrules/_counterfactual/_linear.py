"""Mixed-integer linear programs, built row by row and solved by HiGHS."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from neuralrules._io._c_output import discarded_c_output

GAP = 1e-6  # HiGHS must come this close to the optimum, relative to the radius


@dataclass
class Program:
    """A mixed-integer linear program, to which callers add variables and rows."""

    lower: list[float] = field(default_factory=list)
    upper: list[float] = field(default_factory=list)
    integral: list[bool] = field(default_factory=list)
    n_rows: int = 0
    _entries: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = field(default_factory=list)
    _lows: list[float] = field(default_factory=list)

    def variables(self, upper: Any, *, lower: float = 0.0, integral: Any = False) -> np.ndarray:
        """Add variables with the upper bounds `upper`, (n,) or a number.

        Returns
        -------
        (n,) int64
            The numbers of the variables.
        """
        upper = np.atleast_1d(np.asarray(upper, float))
        first = len(self.upper)
        self.lower += [lower] * len(upper)
        self.upper += upper.tolist()
        self.integral += np.broadcast_to(integral, upper.shape).tolist()
        return np.arange(first, first + len(upper))

    def require(self, *terms: tuple[Any, Any], at_least: float) -> None:
        """Add the row: the sum of coefficients . variables over all terms >= at_least."""
        variables = np.concatenate([np.atleast_1d(variable) for _, variable in terms])
        coefficients = np.concatenate([np.atleast_1d(factor) for factor, _ in terms])
        kept = coefficients != 0
        row = np.full(kept.sum(), self.n_rows)
        self._entries.append((coefficients[kept], row, variables[kept]))
        self._lows.append(at_least)
        self.n_rows += 1

    def solve(
        self, costs: np.ndarray, time_limit: float, fixed: np.ndarray | None = None
    ) -> Any:
        """Minimise costs . variables with HiGHS.

        If a solution `fixed` is given, integer variables keep their values in this solution.
        """
        from scipy.optimize import Bounds, LinearConstraint, milp
        from scipy.sparse import csr_array

        lower, upper = np.array(self.lower), np.array(self.upper)
        integral = np.array(self.integral)
        if fixed is not None:
            lower[integral] = upper[integral] = np.round(fixed[integral])
            integral = np.zeros_like(integral)
        numbers, rows, columns = (
            np.concatenate(part) for part in zip(*self._entries, strict=True)
        )
        places = (
            rows.astype(np.int32),
            columns.astype(np.int32),
        )  # SciPy 1.13 takes no other type
        matrix = csr_array((numbers, places), (self.n_rows, len(upper)))
        with discarded_c_output():  # HiGHS prints some messages even without `disp`
            return milp(
                np.concatenate([costs, np.zeros(len(upper) - len(costs))]),
                integrality=integral,
                bounds=Bounds(lower, upper),
                constraints=LinearConstraint(matrix, lb=np.array(self._lows)),
                options={"disp": False, "time_limit": time_limit, "mip_rel_gap": GAP},
            )
