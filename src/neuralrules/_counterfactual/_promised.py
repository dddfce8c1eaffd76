"""Which way columns may go by what the model promises: never against it.

If the risk never rises with income, nobody should be told to earn less in order to be
accepted. Columns with a proven direction go only the way that helps, unless the user says
otherwise. That loses nothing where outputs must rise or fall past a bound: the other way
does not help.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from neuralrules._counterfactual._options import Options
from neuralrules._data._restrictions import NEITHER, Restrictions
from neuralrules._fitted._fitted import Fitted
from neuralrules._network._restricted import of_each_output, violations


def with_promised_ways(
    options: Options,
    fitted: Fitted,
    restrictions: Restrictions | None,
    needs: Sequence[np.ndarray],
) -> Options:
    """The options, with the ways that follow from a model's directions added.

    Parameters
    ----------
    options : Options
    fitted : Fitted
    restrictions : Restrictions or None
    needs : sequence of (n_outputs,) float64
        Of each goal that would do, which outputs must rise (1) or fall (-1).
    """
    if restrictions is None or not restrictions.directions.any():
        return options
    directions = of_each_output(restrictions.directions, fitted.network.n_outputs)
    broken = violations(fitted.network, directions, relative=restrictions.relative)
    unproven = {column for _, column in broken}
    ways = {}
    for place, column in enumerate(fitted.encoder.columns):
        if place not in unproven and directions[place].any():
            helps = {helpful_way(directions[place], need) for need in needs}
            if helps in ({1}, {-1}):
                ways[column.source] = "increase" if helps == {1} else "decrease"
    return options.with_default_ways(ways)


def helpful_way(direction: np.ndarray, need: np.ndarray) -> int:
    """1 or -1 if all outputs agree which way of a column helps, else 0."""
    signs = np.where(direction == NEITHER, 0, direction) * np.sign(need)
    found = set(signs[signs != 0].tolist())
    return int(found.pop()) if len(found) == 1 else 0
