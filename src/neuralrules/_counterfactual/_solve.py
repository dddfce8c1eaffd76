"""The search for the cheapest row with a prediction that the user wants.

The search solves mixed-integer programs in balls around the row, each twice as large as the
one before. For each ball it first solves the relaxed program, which asks for slightly less than
the user. If this program has no solution, every wanted row costs more than the radius of the
ball. Otherwise the cost of its cheapest solution is a lower bound of all costs. Then a program
that asks for slightly more finds a row, and `predict` confirms the row. If the row costs as
much as the bound, it is proven to be the cheapest. Small balls are quick, because most rules
cannot become active in them.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from neuralrules._counterfactual._ball import SLACK, Ball, Moves, Together, round_down
from neuralrules._counterfactual._choices import CellChoices, cell_at
from neuralrules._counterfactual._program import Goal, solve_in_ball
from neuralrules._counterfactual._row import (
    Move,
    cell_text,
    changed_cells,
    moves_of,
    write_cells,
)
from neuralrules._engine._protocol import Engine
from neuralrules._engine._reference import rules_forward
from neuralrules._fitted._fitted import Fitted
from neuralrules._reading._notation import category_text, in_formula

# How far beyond the decision boundary a solution must lie, in standard deviations and
# relative to the values of the rules. If `predict`, which computes in float32, does not confirm
# a solution, the search tries the next margin.
MARGINS = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2)
# For ranges that are too narrow for these margins: a smaller margin, and the share of the
# range that is left out at each end.
NARROW = ((2e-7, 0.05), (5e-8, 0.25), (0.0, 0.49))
REACH = 32  # a number may move at least this many standard deviations beyond the mean
FIRST_RADIUS = 1 / 16  # of the cost of the cheapest deviation or switch
QUICK_ROUNDS = 40  # how often the quick search sets a column
QUICK_SIZES = np.append(2.0 ** np.arange(0, -12, -0.25), 0)  # shares of a move to try
TOLERANCE = 1e-3  # a cost that exceeds the bound by at most this share is called optimal


class Deadline:
    """A time limit in seconds that starts now. Nothing else in the search reads a clock."""

    def __init__(self, seconds: float, clock: Callable[[], float] = time.perf_counter) -> None:
        self._seconds = seconds
        self._clock = clock
        self._start = clock()

    def elapsed(self) -> float:
        """Seconds since the start."""
        return self._clock() - self._start

    def left(self) -> float:
        """Seconds until the limit; 0 or negative once the time is over."""
        return self._seconds - self.elapsed()


@dataclass(frozen=True)
class Change:
    """One cell that changes: its column, its content before and after, and the cost."""

    column: str
    before: Any
    after: Any
    cost: float

    def __str__(self) -> str:
        # Numbers far from zero need more digits to look different.
        for precision in (6, 9, 12, 17):
            before, after = (
                category_text(cell) if isinstance(cell, str) else cell_text(cell, precision)
                for cell in (self.before, self.after)
            )
            if before != after:
                break
        return f"{in_formula(self.column)} from {before} to {after}"


class Wanted(NamedTuple):
    """What the user wants: to reach any of several goals.

    `accepts` says whether a prediction is wanted, or the probability of the class whose
    position is `of_class`.
    """

    goals: list[Goal]
    accepts: Callable[[Any], bool]
    of_class: int | None = None


@dataclass(frozen=True)
class Candidate:
    """A row with a prediction that the user wants, and the positions of changed columns.

    If there is no row, its cost is infinite.
    """

    table: Any = None
    changes: tuple[Change, ...] = ()
    positions: frozenset[int] = frozenset()
    cost: float = np.inf
    prediction: Any = None
    probability: float | None = None


NO_ROW = Candidate()


class Found(NamedTuple):
    """The best row found, a lower bound of all costs, and whether the search gave a proof."""

    best: Candidate
    bound: float
    proven: bool


@dataclass(frozen=True)
class Problem:
    """A row, how it may move, and which predictions are wanted.

    `table` is the row as the user gave it, and `row` (n_features,) float64 holds the features
    that the network looks at. `moves` has the moves as the program takes them, and `meanings`
    says what they do to the table.
    """

    fitted: Fitted
    engine: Engine
    table: Any
    columns: list[CellChoices]
    wanted: Wanted
    row: np.ndarray
    moves: Moves
    meanings: list[Move]

    @classmethod
    def of(
        cls,
        fitted: Fitted,
        engine: Engine,
        table: Any,
        columns: list[CellChoices],
        wanted: Wanted,
        max_changes: int | None = None,
    ) -> Problem:
        features = fitted.network.features
        row = fitted.encoder.transform(table)[0, features].astype(float)
        moves, meanings = moves_of(fitted.encoder, features, row, columns)
        moves = replace(moves, together=Together(max_changes))
        return cls(fitted, engine, table, columns, wanted, row, moves, meanings)

    def excluding(self, positions: frozenset[int]) -> Problem:
        """The same problem, in which at least one of the columns `positions` must stay."""
        moves = self.moves
        together = moves.together._replace(excluded=(*moves.together.excluded, positions))
        # A single column that must stay has no moves. This makes all bounds tighter.
        stays = np.isin(moves.groups, list(positions)) & (len(positions) == 1)
        most = np.where(stays, 0, moves.most)
        return replace(self, moves=replace(moves, most=most, together=together))

    def candidate(self, amounts: np.ndarray | None) -> Candidate:
        """The moved row if its prediction is wanted, else NO_ROW."""
        if amounts is None:
            return NO_ROW
        cells = changed_cells(self.columns, self.meanings, amounts)
        if not self.moves.together.allows(set(cells)):
            return NO_ROW
        table = write_cells(self.table, cells)
        prediction, probability = self.predicted(table)
        if not self.wanted.accepts(prediction if probability is None else probability):
            return NO_ROW
        changes = []
        for position in cells:
            before, after = cell_at(self.table, position), cell_at(table, position)
            column = self.columns[position]
            changes.append(Change(column.name, before, after, column.cost(after)))
        changes.sort(key=lambda change: -change.cost)
        cost, positions = sum(change.cost for change in changes), frozenset(cells)
        return Candidate(table, tuple(changes), positions, cost, prediction, probability)

    def predicted(self, table: Any) -> tuple[Any, float | None]:
        """The prediction for a table of one row, and the probability if one is wanted."""
        task, of_class = self.fitted.task, self.wanted.of_class
        outputs = self.fitted.decide(table, self.engine)
        prediction = task.predictions(outputs)[0]
        if of_class is None:
            return prediction, None
        return prediction, float(task.probabilities(outputs)[0, of_class])

    def radii(self) -> tuple[float, float]:
        """The first and the largest radius of the search."""
        moves = self.moves
        sizes = np.abs(moves.effects).max(axis=1)
        are_numbers = np.array([move.category is None for move in self.meanings])
        deviation = moves.rates / np.where(are_numbers & (sizes > 0), sizes, 1)
        far = deviation * (np.abs(self.row).max() + REACH)
        bent = moves.segments >= 0  # the ball reaches all segments
        largest = np.where(are_numbers & ~bent, far, 0).max() + moves.rates[~are_numbers].sum()
        largest += (moves.rates * moves.most)[bent].sum() * (1 + SLACK)
        smallest = deviation[sizes > 0].min()
        return FIRST_RADIUS * float(smallest), min(float(largest), moves.total_cost)


def search(problem: Problem, deadline: Deadline, known: float = 0.0) -> Found:
    """Search in larger and larger balls until the best row is proven to be the best.

    No row costs less than `known`, so balls with a smaller radius are left out.
    """
    if not problem.moves.most.any():
        return Found(NO_ROW, np.inf, True)
    radius, largest = problem.radii()
    while radius < known:
        radius *= 2
    # A row that is found column by column limits the radii. It is also the answer if the time
    # ends before a better one is found.
    quick = [quick_amounts(problem, goal, deadline) for goal in problem.wanted.goals]
    best = min(map(problem.candidate, quick), key=lambda row: row.cost)
    bound = known
    while True:
        bounds = []
        for goal in problem.wanted.goals:
            # Rows that cost more than the best row so far are of no interest.
            limit = min(largest, best.cost)
            radius = min(radius, limit)
            found, low, solved = solve_goal(problem, goal, radius, deadline)
            best = min(best, found, key=lambda row: row.cost)
            bounds.append(min(low, radius))
            if not solved:
                # The remaining goals were only searched in the previous, smaller ball.
                behind = [] if len(bounds) == len(problem.wanted.goals) else [bound]
                return Found(best, max(bound, min(bounds + behind)), False)
        bound = max(bound, min(bounds))
        if best.cost <= bound * (1 + TOLERANCE):
            return Found(best, min(bound, best.cost), True)
        if radius >= limit:
            proven = best is NO_ROW and bound >= radius
            everything = proven and problem.moves.total_cost <= radius
            return Found(best, np.inf if everything else bound, proven)
        radius *= 2


def solve_goal(
    problem: Problem, goal: Goal, radius: float, deadline: Deadline
) -> tuple[Candidate, float, bool]:
    """A row in a ball, a lower bound of the costs, and whether the time was enough."""
    ball = Ball(problem.row, problem.moves.within(radius), radius)
    network = problem.fitted.network
    left = deadline.left()
    if left <= 0:
        return NO_ROW, 0.0, False
    relaxed = solve_in_ball(network, goal, ball, None, left)
    found = problem.candidate(relaxed.amounts)  # if this row is accepted, no row is cheaper
    if relaxed.amounts is None or found is not NO_ROW or not relaxed.solved:
        return found, relaxed.bound, relaxed.solved
    plain = [(margin, goal) for margin in MARGINS]
    narrow = [(margin, squeezed(goal, share)) for margin, share in NARROW]
    attempts = plain + (narrow if np.isfinite(goal.widths).any() else [])
    too_much = np.inf  # the smallest margin for which there is no row
    for margin, asked in attempts:
        left = deadline.left()
        if left <= 0:
            return NO_ROW, relaxed.bound, False
        if margin > too_much:
            continue
        answer = solve_in_ball(network, asked, ball, margin, left, relaxed.bound)
        found = problem.candidate(answer.amounts)
        if found is not NO_ROW or not answer.solved:
            return found, relaxed.bound, answer.solved
        if answer.amounts is None:
            too_much = min(too_much, margin)
    return NO_ROW, relaxed.bound, True


def squeezed(goal: Goal, share: float) -> Goal:
    """A goal with narrower ranges, so that outputs keep a distance from their ends.

    A range loses `share` of its width at each end, or less if a smaller distance is enough.
    """
    enough = MARGINS[0] * np.abs(goal.gains).sum(axis=1)
    return goal._replace(constants=goal.constants - np.minimum(share * goal.widths, enough))


def quick_amounts(problem: Problem, goal: Goal, deadline: Deadline) -> np.ndarray | None:
    """Amounts (n_moves,) that meet a goal, set one column at a time; None if this fails.

    Until the goal is met, each round sets the column that helps most for its cost. After that,
    each round makes the row cheaper, as long as it still meets the goal.
    """
    moves = problem.moves
    sizes = np.abs(moves.effects).max(axis=1)
    longest = (np.abs(problem.row).max() + REACH) / np.where(sizes > 0, sizes, 1)
    tried = np.minimum(moves.most, longest) * QUICK_SIZES[:, None]
    tried = round_down(tried, moves.whole, moves.first).ravel()
    move = np.tile(np.arange(len(longest)), len(QUICK_SIZES))
    before = moves.passed(moves.effects)
    amounts, met = np.zeros(len(longest)), False
    for _ in range(QUICK_ROUNDS):
        if deadline.left() <= 0:
            break
        # An amount that is tried replaces the present amounts of the same column.
        others = np.where(moves.groups[:, None] == moves.groups, 0, amounts)
        rows = (others @ moves.effects + before)[move] + tried[:, None] * moves.effects[move]
        costs = (others @ moves.rates + moves.lead)[move] + tried * moves.rates[move]
        good, lacking = judge(problem, goal, rows)
        allowed = may_change(moves, amounts)[move] | ((tried == 0) & (moves.lead[move] == 0))
        good &= allowed
        cost = float(amounts @ moves.rates)
        if good.any():
            choice = int(np.where(good, costs, np.inf).argmin())
            if met and costs[choice] >= cost:
                break
            met = True
        else:
            _, now = judge(problem, goal, amounts[None] @ moves.effects)
            gain = (now - lacking) / np.where(costs > cost, costs - cost, np.inf)
            gain = np.where(allowed, gain, 0)
            choice = int(gain.argmax())
            if gain[choice] <= 0:
                break
        amounts[moves.groups == moves.groups[move[choice]]] = 0
        chosen = move[choice]
        passed = slice(chosen - max(moves.segments[chosen], 0), chosen)
        amounts[passed] = moves.most[passed]
        amounts[chosen] = tried[choice]
    return amounts if met else None


def may_change(moves: Moves, amounts: np.ndarray) -> np.ndarray:
    """Whether each move's column may change along with those that do, (n_moves,) bool."""
    changed = set(moves.groups[amounts > 0].tolist())
    groups = moves.groups.tolist()
    allowed = {group: moves.together.allows(changed | {group}) for group in set(groups)}
    return np.array([allowed[group] for group in groups])


def judge(problem: Problem, goal: Goal, shifts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Whether rows meet a goal, (n_rows,) bool, and how far they miss it, (n_rows,) float64.

    The rows are the row of the problem plus `shifts`, (n_rows, n_features) float64.
    """
    network = problem.fitted.network
    rows = (problem.row + shifts).astype(np.float32)
    active = rules_forward(network.parameters, network.layout, rows)
    sums = active @ goal.gains.T + goal.constants
    met = np.where(goal.strict, sums > 0, sums >= 0).all(axis=1)
    return met, np.maximum(-sums, 0).max(axis=1)
