"""How a row may move, as variables and rows of a linear program."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from neuralrules._counterfactual._ball import Ball, Moves
from neuralrules._counterfactual._linear import Program


def add_moves(program: Program, ball: Ball) -> np.ndarray:
    """Variables for the amounts, with what keeps them whole, exclusive and affordable."""
    moves = ball.moves
    plain = moves.whole & (moves.first == 1)
    amounts = program.variables(moves.most, integral=plain)
    started = amounts.copy()  # positive where the move is made at all
    for move in np.flatnonzero(moves.whole & ~plain & (moves.most > 0)):
        first, more = moves.first[move], moves.most[move] - moves.first[move]
        started[move] = program.variables(1, integral=True)[0]
        steps = program.variables(more, integral=True)
        terms = (1, amounts[move]), (-first, started[move]), (-1, steps)
        program.require(*terms, at_least=0)
        program.require(*[(-factor, variable) for factor, variable in terms], at_least=0)
        program.require((more, started[move]), (-1, steps), at_least=0)
    for group in np.unique(moves.groups):
        own = np.flatnonzero(moves.groups == group)
        single = (moves.most[own] <= 1) | (started[own] != amounts[own])
        # Categories must not be mixed, and going up and down at once could miss whole
        # numbers if the first steps are parts of one. Elsewhere it is just a waste.
        straight = (moves.segments[own] < 0).all()
        if len(own) > 1 and straight and (moves.whole[own] & single).all():
            program.require((-np.ones(len(own)), started[own]), at_least=-1)
    add_segments(program, moves, amounts)
    add_together(program, moves, amounts)
    program.require((-moves.rates / ball.radius, amounts), at_least=-1)
    return amounts


def add_segments(program: Program, moves: Moves, amounts: np.ndarray) -> None:
    """What lets scaled columns go segment after segment.

    Otherwise a steep segment could be had without the flat ones before it. Whole numbers go
    up or down only: both at once would make numbers between them. Elsewhere that is a waste.
    """
    for move in np.flatnonzero((moves.segments > 0) & (moves.most > 0)):
        entered = program.variables(1, integral=True)
        program.require((1, amounts[move - 1]), (-moves.most[move - 1], entered), at_least=0)
        program.require((moves.most[move], entered), (-1, amounts[move]), at_least=0)
    first = np.flatnonzero((moves.segments == 0) & moves.whole & (moves.most > 0))
    for one, other in pairwise(first):
        if moves.groups[one] == moves.groups[other]:
            up = program.variables(1, integral=True)
            program.require((moves.most[one], up), (-1, amounts[one]), at_least=0)
            most = moves.most[other]
            program.require((-most, up), (-1, amounts[other]), at_least=-most)


def add_together(program: Program, moves: Moves, amounts: np.ndarray) -> None:
    """What keeps too many columns, or those of an earlier answer, from changing together."""
    together, groups = moves.together, np.unique(moves.groups)
    too_many = together.most is not None and together.most < len(groups)
    if not too_many and not together.excluded:
        return
    changed = program.variables(np.ones(len(groups)), integral=True)
    for move in np.flatnonzero(moves.most > 0):
        own = changed[np.searchsorted(groups, moves.groups[move])]
        program.require((moves.most[move], own), (-1, amounts[move]), at_least=0)
    if together.most is not None:
        program.require((-np.ones(len(changed)), changed), at_least=-together.most)
    for positions in together.excluded:
        some = changed[np.searchsorted(groups, sorted(positions))]
        program.require((-np.ones(len(some)), some), at_least=1 - len(some))
