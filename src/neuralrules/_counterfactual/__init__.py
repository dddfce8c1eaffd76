"""The smallest change of a row that changes its prediction.

`_options` reads what the user allows and `_row` the row and what may change in it. `_ball`
bounds what is reached at a given cost, `_program` turns a network and such a ball around
the row into a mixed-integer linear program (`_linear`; `_moving` adds how the row may move),
`_solve` looks in wider and wider balls, and `_answer` says what was found.
"""

from neuralrules._counterfactual._answer import Counterfactual, counterfactual

__all__ = ["Counterfactual", "counterfactual"]
