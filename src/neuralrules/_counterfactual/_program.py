"""From a network and a ball around one row to a mixed-integer linear program.

Everything before the first ReLU or minimum is affine in the amounts by which the row moves.
Each ReLU and each minimum takes a few binary variables. The coefficients of these variables
("big M") come from bounds that hold for every row of the ball. So a small ball has small
coefficients.

A prediction is made in float32, and a solver works to a tolerance. So there are two programs.
The first finds rows, and asks for a little more than the goal: with a margin e, a rule that
helps counts as (1 - e) * max(0, min - e), and a rule that hurts as (1 + e) * max(0, min + e).
A row on which no rule is active gives exactly 0 in both, so it is not lost. The second program
proves bounds, and asks for a little less than the goal. Its margin is minus the largest
rounding error of float32 in the ball. So it contains every row that a prediction could accept.
Zeros are exact in float32, too: if a sum must be positive, a rule that helps must be active.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from neuralrules._counterfactual._ball import (
    SLACK,
    Affine,
    Ball,
    Highest,
    Moves,
    highest_in,
    highest_of_rectified,
)
from neuralrules._io._c_output import discarded_c_output
from neuralrules._network._network import Network

GAP = 1e-6  # HiGHS must come this close to the optimum, relative to the radius
UNIT_ROUNDOFF = 2.0**-24  # the largest relative rounding error of float32
SOLVER_SLACK = 1e-7  # added to the rounding errors in the relaxed program


@dataclass
class Program:
    """A mixed-integer linear program, to which callers add variables and rows for HiGHS."""

    _lower: list[float] = field(default_factory=list)
    _upper: list[float] = field(default_factory=list)
    _integral: list[bool] = field(default_factory=list)
    _rows: list[tuple[np.ndarray, np.ndarray]] = field(default_factory=list)
    _lows: list[float] = field(default_factory=list)

    def variables(self, upper: Any, *, lower: float = 0.0, integral: Any = False) -> np.ndarray:
        """Add variables with upper bounds, (n,) or one number. Returns their numbers (n,)."""
        upper = np.atleast_1d(np.asarray(upper, float))
        first = len(self._upper)
        self._lower += [lower] * len(upper)
        self._upper += upper.tolist()
        self._integral += np.broadcast_to(integral, upper.shape).tolist()
        return np.arange(first, first + len(upper))

    def require(self, *terms: tuple[Any, Any], at_least: float) -> None:
        """Add the row: the sum of coefficients . variables over all terms >= at_least."""
        variables = np.concatenate([np.atleast_1d(variable) for _, variable in terms])
        coefficients = np.concatenate([np.atleast_1d(factor) for factor, _ in terms])
        kept = coefficients != 0
        self._rows.append((coefficients[kept], variables[kept]))
        self._lows.append(at_least)

    def switches(self, n: int = 1) -> np.ndarray:
        """Add variables that are 0 or 1, and return their numbers (n,)."""
        return self.variables(np.ones(n), integral=True)

    def limit(self, variable: Any, most: float, switch: Any) -> None:
        """Require variable <= most * switch."""
        self.require((most, switch), (-1, variable), at_least=0)

    def choose(self, switches: np.ndarray, most: int) -> None:
        """Require that at most `most` of the switches are 1."""
        self.require((-np.ones(len(switches)), switches), at_least=-most)

    def solve(
        self, costs: np.ndarray, time_limit: float, fixed: np.ndarray | None = None
    ) -> Any:
        """Minimise costs . variables with HiGHS.

        If a solution `fixed` is given, integer variables keep their values in this solution.
        """
        from scipy.optimize import Bounds, LinearConstraint, milp
        from scipy.sparse import csr_array

        lower, upper = np.array(self._lower), np.array(self._upper)
        integral = np.array(self._integral)
        if fixed is not None:
            lower[integral] = upper[integral] = np.round(fixed[integral])
            integral = np.zeros_like(integral)
        numbers, columns = (np.concatenate(part) for part in zip(*self._rows, strict=True))
        rows = np.repeat(np.arange(len(self._rows)), [len(row) for row, _ in self._rows])
        places = (rows.astype(np.int32), columns.astype(np.int32))  # as SciPy 1.13 asks
        matrix = csr_array((numbers, places), (len(self._rows), len(upper)))
        with discarded_c_output():  # HiGHS prints some messages even without `disp`
            return milp(
                np.concatenate([costs, np.zeros(len(upper) - len(costs))]),
                integrality=integral,
                bounds=Bounds(lower, upper),
                constraints=LinearConstraint(matrix, lb=np.array(self._lows)),
                options={"disp": False, "time_limit": time_limit, "mip_rel_gap": GAP},
            )


class Goal(NamedTuple):
    """The condition on the activations A of the rules: gains . A + constants >= 0.

    `gains` are (n_conditions, n_rules) float64, and the next three (n_conditions,). If
    `strict`, a sum must be > 0. A sum may lie above 0 by its width, which may be infinite,
    before another condition fails. `need` (n_outputs,) says which outputs must rise (1) or
    fall (-1) to reach the goal.
    """

    gains: np.ndarray
    constants: np.ndarray
    strict: np.ndarray
    widths: np.ndarray
    need: np.ndarray


class Answer(NamedTuple):
    """The solver's answer for one ball.

    `amounts` (n_moves,) float64 are None if no row was found. No row of the ball that meets the
    goal costs less than `bound`, which is infinite if none meets the goal. `solved` says
    whether the solver finished before the time was over.
    """

    amounts: np.ndarray | None
    bound: float
    solved: bool


class Units(NamedTuple):
    """The units of one rule, with bounds that hold in the ball. A rule takes their minimum.

    `low` and `high` are the bounds of the units, (n_units,) float64. gaps[j, k] is an upper
    bound of unit_j - unit_k. `margin` is the margin of the rule: see the docstring of this
    module. Each of the `covers` is a set of binary variables: the rule can only be active if
    at least one of them is 1.
    """

    values: Affine
    low: np.ndarray
    high: np.ndarray
    gaps: np.ndarray
    margin: float
    covers: list[np.ndarray]


class Active(NamedTuple):
    """The variable of a rule's activation, and the best value that it may take for the goal.

    `on` is the switch that says whether a rule that helps is active. It is None if the rule is
    active in the whole ball, or if it hurts.
    """

    activation: int
    best: float
    on: int | None = None


def add_moves(program: Program, ball: Ball) -> np.ndarray:
    """Add variables for amounts, and rows that keep them whole, exclusive and affordable."""
    moves = ball.moves
    plain = moves.whole & (moves.first == 1)
    amounts = program.variables(moves.most, integral=plain)
    started = amounts.copy()  # positive if the move is made at all
    for move in np.flatnonzero(moves.whole & ~plain & (moves.most > 0)):
        first, more = moves.first[move], moves.most[move] - moves.first[move]
        started[move] = program.switches()[0]
        steps = program.variables(more, integral=True)
        terms = (1, amounts[move]), (-first, started[move]), (-1, steps)
        program.require(*terms, at_least=0)
        program.require(*[(-factor, variable) for factor, variable in terms], at_least=0)
        program.limit(steps, more, started[move])
    for group in np.unique(moves.groups):
        own = np.flatnonzero(moves.groups == group)
        single = (moves.most[own] <= 1) | (started[own] != amounts[own])
        # A cell has one category. A number must not go up and down at once if its first steps
        # are fractions, because it could end between whole numbers. For other numbers, going up
        # and down at once only costs more.
        straight = (moves.segments[own] < 0).all()
        if len(own) > 1 and straight and (moves.whole[own] & single).all():
            program.choose(started[own], 1)
    add_segments(program, moves, amounts)
    add_together(program, moves, amounts)
    program.require((-moves.rates / ball.radius, amounts), at_least=-1)
    return amounts


def add_segments(program: Program, moves: Moves, amounts: np.ndarray) -> None:
    """Add rows that let a scaled number pass its segments one after the other.

    Without these rows, a number could take a steep segment and leave out the flat segments
    before it. A whole number goes either up or down, because both at once could lead to a
    fraction. For other numbers, both at once only cost more.
    """
    most = moves.most
    for move in np.flatnonzero((moves.segments > 0) & (most > 0)):
        entered = program.switches()
        program.require((1, amounts[move - 1]), (-most[move - 1], entered), at_least=0)
        program.limit(amounts[move], most[move], entered)
    first = np.flatnonzero((moves.segments == 0) & moves.whole & (most > 0))
    for one, other in pairwise(first):
        if moves.groups[one] == moves.groups[other]:
            up = program.switches()
            program.limit(amounts[one], most[one], up)
            program.require((-most[other], up), (-1, amounts[other]), at_least=-most[other])


def add_together(program: Program, moves: Moves, amounts: np.ndarray) -> None:
    """Add rows that keep too many columns, or excluded sets, from changing together."""
    together, groups = moves.together, np.unique(moves.groups)
    too_many = together.most is not None and together.most < len(groups)
    if not too_many and not together.excluded:
        return
    changed = program.switches(len(groups))
    for move in np.flatnonzero(moves.most > 0):
        own = changed[np.searchsorted(groups, moves.groups[move])]
        program.limit(amounts[move], moves.most[move], own)
    if together.most is not None:
        program.choose(changed, together.most)
    for positions in together.excluded:
        some = changed[np.searchsorted(groups, sorted(positions))]
        program.choose(some, len(some) - 1)


def bounded_units(
    values: Affine, highest: Highest, margin: float, covers: list[np.ndarray]
) -> Units:
    """Units with their bounds. Units that can never be the smallest are left out."""
    gains, constants = values.coefficients, values.constants
    n = len(constants)
    gaps = np.array([highest(gains[j] - gains, constants[j] - constants) for j in range(n)])
    alive = list(range(n))
    for unit in range(n):
        if any(gaps[other, unit] <= 0 for other in alive if other != unit):
            alive.remove(unit)
    kept = Affine(gains[alive], values.variables, constants[alive])
    low, high = -highest(-kept.coefficients, -kept.constants), highest(*kept[::2])
    return Units(kept, low, high, gaps[np.ix_(alive, alive)], margin, covers)


def add_helping_rule(program: Program, units: Units) -> Active:
    """Add a variable that is at most max(0, min_j unit_j - margin).

    This takes one binary variable, which says whether the rule is active.
    """
    margin = units.margin
    low, high = units.low - margin, units.high - margin
    activation = int(program.variables(high.min())[0])
    on, off = None, []
    if low.min() < 0 or units.covers:
        on = int(program.switches()[0])
        program.limit(activation, high.min(), on)
        off = [(-1.0, on)]
    for unit in range(len(low)):
        room = max(-low[unit], 0)  # how far below 0 a unit may be if the rule is not active
        own = (units.values.coefficients[unit], units.values.variables)
        terms = [(room * factor, variable) for factor, variable in off]
        constant = units.values.constants[unit] - margin + (room if off else 0)
        program.require(own, (-1, activation), *terms, at_least=-constant)
    for cover in units.covers:
        program.require((np.ones(len(cover)), cover), *off, at_least=0)
    return Active(activation, high.min(), on)


def add_hurting_rule(program: Program, units: Units) -> Active:
    """Add a variable that is at least max(0, min_j unit_j + margin).

    This takes a binary variable for each unit, which says whether the unit is the smallest.
    """
    n, margin = len(units.low), units.margin
    low, high = units.low + margin, units.high + margin
    lowest = max(low.min(), 0)
    activation = int(program.variables(high.min(), lower=lowest)[0])
    least = program.switches(n) if n > 1 else np.empty(0, int)
    if n > 1:  # choose at most one unit: two would loosen each other's row
        program.choose(least, 1)
    for unit in range(n):
        # If unit k is chosen, the activation is at least unit k. So unit j exceeds the
        # activation by at most gaps[j, k]. The activation is also at least 0. So unit j exceeds
        # the activation by at most the largest value of unit j.
        room = np.clip(units.gaps[unit], 0, high[unit])
        own = (-units.values.coefficients[unit], units.values.variables)
        others = np.arange(n) != unit
        terms = [(room[others], least[others])] if n > 1 else []
        constant = units.values.constants[unit] + margin
        program.require(own, (1, activation), *terms, at_least=constant)
    return Active(activation, lowest)


def add_layer(
    program: Program, literals: Affine, low: np.ndarray, high: np.ndarray, errors: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Add variables that equal ReLU(literal), and binary variables for their signs.

    All arrays are (n_literals,): `low` and `high` are the bounds of a deep rule's literals in
    the ball. A literal that is below 0 by at most its error may count as positive. The results
    are the numbers of the variables, and those of the binary variables, -1 if there is none.
    """
    rectified = program.variables(np.maximum(high, 0))
    positive = np.full(len(low), -1)
    for literal, variable in enumerate(rectified):
        if high[literal] <= 0:
            continue
        own = (literals.coefficients[literal], literals.variables)
        constant = literals.constants[literal]
        program.require((1, variable), (-own[0], own[1]), at_least=constant)
        if low[literal] >= 0:
            program.require((-1, variable), own, at_least=-constant)
            continue
        on = positive[literal] = program.switches()[0]
        program.limit(variable, high[literal], on)
        needed = low[literal] - constant - errors[literal]
        program.require((-1, variable), own, (low[literal], on), at_least=needed)
    return rectified, positive


def literal_errors(ball: Ball, weights: np.ndarray, biases: np.ndarray) -> np.ndarray:
    """Bounds for the rounding errors of float32 literals in the ball, (n_literals,) float64.

    In any order of summation, the error of a sum of n products is at most about n unit
    roundoffs times the sum of the products' sizes. The row was rounded, too, before and after
    it moved.
    """
    weights = np.abs(weights)
    sizes = weights @ np.abs(ball.row) + np.abs(biases)
    sizes = highest_in(ball, weights @ np.abs(ball.moves.effects).T, sizes)
    n_terms = np.count_nonzero(weights, axis=1) + 4
    return n_terms * UNIT_ROUNDOFF * sizes + SOLVER_SLACK


def rule_units(
    program: Program,
    network: Network,
    ball: Ball,
    rule: int,
    amounts: np.ndarray,
    margin: float | None,
) -> Units | None:
    """The units of a rule; None if the rule cannot become active in the ball.

    Adds the second layer of a deep rule to the program. If `margin` is None, the margin of the
    rule is minus the bound of its rounding errors.
    """
    own = network.layout.literals_of(rule)
    weights, biases = network.weights[own].astype(float), network.biases[own]
    literals = Affine(weights @ ball.moves.effects.T, amounts, weights @ ball.row + biases)
    high = highest_in(ball, literals.coefficients, literals.constants)
    relaxed = margin is None
    errors = literal_errors(ball, weights, biases) if relaxed else np.zeros(len(high))
    if not network.deep:
        margin = -float(errors.max()) if margin is None else margin
        if high.min() <= -abs(margin):
            return None
        return bounded_units(literals, partial(highest_in, ball), margin, [])
    low = -highest_in(ball, -literals.coefficients, -literals.constants)
    mixing = network.second_layer(rule).astype(float)
    shifts = network.shifts[own].astype(float)
    highest = highest_of_rectified(ball, literals, low, high)
    if margin is None:
        sizes = np.abs(mixing) @ (np.maximum(high, 0) + errors) + np.abs(shifts)
        roundings = (len(high) + 2) * UNIT_ROUNDOFF * sizes
        margin = -float((np.abs(mixing) @ errors + roundings).max()) - SOLVER_SLACK
    if highest(mixing, shifts).min() <= -abs(margin):
        return None
    rectified, positive = add_layer(program, literals, low, high, errors)
    covers = []
    if relaxed:
        # Without these covers, a deep rule whose literals are all negative would count as
        # almost active, although its units are exactly 0. A unit without a positive shift
        # needs a literal that may be positive. It needs no cover if one always may.
        useful = (mixing > 0) & (high > -errors)
        sure = useful & ((low >= 0) | (positive < 0))
        covered = np.flatnonzero((shifts <= 0) & ~sure.any(axis=1))
        covers = [positive[useful[unit]] for unit in covered]
    return bounded_units(Affine(mixing, rectified, shifts), highest, margin, covers)


def add_goal(
    program: Program,
    goal: Goal,
    helping: dict[int, Active],
    hurting: dict[int, Active],
    margin: float | None,
) -> bool:
    """Add the conditions of a goal; False if bounds show that one of them cannot be met."""
    for gains, constant, strict in zip(goal.gains, goal.constants, goal.strict, strict=True):
        helps = [rule for rule in helping if gains[rule] > 0]
        hurts = [rule for rule in hurting if gains[rule] < 0]
        # The values of rules are summed in float64.
        relative = -SLACK if margin is None else margin
        factors = np.concatenate([gains[helps] * (1 - relative), gains[hurts] * (1 + relative)])
        size = float(np.abs(factors).max(initial=0)) or 1.0
        needed = -constant / size
        if margin is None:
            needed -= SLACK * (1 + abs(needed))
        elif strict:
            needed += margin
        rules = [helping[rule] for rule in helps] + [hurting[rule] for rule in hurts]
        if factors @ [rule.best for rule in rules] / size < needed:
            return False
        if margin is None and strict and constant <= 0:  # some rule must be active
            on = [helping[rule].on for rule in helps]
            if not on:
                return False
            if None not in on:
                program.require((np.ones(len(on)), np.array(on, int)), at_least=1)
        variables = np.array([rule.activation for rule in rules], int)
        program.require((factors / size, variables), at_least=needed)
    return True


def solve_in_ball(
    network: Network,
    goal: Goal,
    ball: Ball,
    margin: float | None,
    time_limit: float,
    known: float = 0.0,
) -> Answer:
    """The cheapest way to a goal inside a ball, whose moves must not exceed its radius.

    The program asks for more than the goal by `margin`: see the docstring of this module. With
    None, it is the relaxed program, whose bound holds for every row that a prediction accepts.
    `time_limit` is in seconds, and `known` is a lower bound of the cost of all rows.
    """
    program = Program()
    amounts = add_moves(program, ball)
    if known > 0:  # the solver may stop as soon as it finds a row of this cost
        least = known / ball.radius * (1 - GAP)
        program.require((ball.moves.rates / ball.radius, amounts), at_least=least)
    helping: dict[int, Active] = {}
    hurting: dict[int, Active] = {}
    for rule in range(network.n_rules):
        helps, hurts = (goal.gains[:, rule] > 0).any(), (goal.gains[:, rule] < 0).any()
        if not helps and not hurts:
            continue
        units = rule_units(program, network, ball, rule, amounts, margin)
        if units is None:
            continue
        if helps and units.high.min() > units.margin:
            helping[rule] = add_helping_rule(program, units)
        if hurts and units.high.min() > -units.margin:
            hurting[rule] = add_hurting_rule(program, units)
    if not add_goal(program, goal, helping, hurting, margin):
        return Answer(None, np.inf, True)
    costs = ball.moves.rates / ball.radius
    result = program.solve(costs, time_limit)
    if "infeasible" in result.message:  # or "unbounded or infeasible", but all is bounded
        return Answer(None, np.inf, True)
    bound = max(result.mip_dual_bound or 0.0, 0.0) * ball.radius
    if result.status == 0:  # a program without integers has no dual bound
        bound = max(bound, (result.fun - GAP) * ball.radius)
    if result.x is None:
        return Answer(None, bound, False)
    # HiGHS lets binary variables deviate by 1e-6, and large coefficients magnify that. With
    # the binary variables fixed, a small linear program remains, solved to a finer tolerance.
    exact = program.solve(costs, max(time_limit, 1.0), fixed=result.x)
    solution = result.x if exact.x is None else exact.x
    return Answer(solution[: len(costs)], bound, result.status == 0)
