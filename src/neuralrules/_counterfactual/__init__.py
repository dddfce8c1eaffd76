"""The smallest change of a row that changes its prediction.

`_choices` reads what each cell may become, and `_row` moves the row. `_ball` holds the rows
that a given cost can reach, and bounds for them. `_program` turns a network and a ball into a
mixed-integer linear program. `_solve` searches in larger and larger balls, and `_answer` says
what was found.
"""

from neuralrules._counterfactual._answer import Counterfactual, counterfactual

__all__ = ["Counterfactual", "counterfactual"]
