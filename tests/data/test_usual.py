"""The usual outcomes of text values: shrunk, and without a training row's own target."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuralrules._data._columns import Usual
from neuralrules._data._encoder import Encoder, warn_of_rare
from neuralrules._data._usual import (
    FEWEST_ROWS,
    FEWEST_VALUES,
    LEAST_SHRINKAGE,
    MOST_SHRINKAGE,
    PRIOR_ROWS,
    Outcomes,
    OutcomeSums,
    parts_of,
)

NAMES = [f"city {i:02}" for i in range(30)] + ["007", "o'Neill", "Århus"]


def reference(names, targets, weights, row):
    """What row `row` sees of some rows' values and targets: loops over all rows."""
    parts = parts_of(0, len(names)).tolist()
    mine = parts[row] if weights[row] > 0 else None
    counted = [i for i in range(len(names)) if weights[i] > 0]
    seen = [i for i in counted if parts[i] != mine]
    if not seen:
        return np.mean([targets[i] for i in counted])
    several = {n for n in names if sum(names[i] == n for i in counted) >= FEWEST_ROWS}
    group_of = {name: name if name in several else "others" for name in names}
    unit = sum(weights[i] for i in seen) / len(seen)
    mean = sum(weights[i] * targets[i] for i in seen) / (len(seen) * unit)
    groups = {}
    for i in seen:
        groups.setdefault(group_of[names[i]], []).append((weights[i] / unit, targets[i]))
    inside = between = overall = squares = 0.0
    for own in groups.values():
        rows = sum(w for w, _ in own)
        middle = sum(w * y for w, y in own) / rows
        inside += sum(w * (y - middle) ** 2 for w, y in own)
        between += rows * (middle - mean) ** 2
        overall += sum(w * (y - mean) ** 2 for w, y in own)
        squares += rows**2
    n, n_groups = len(seen), len(groups)
    within = (inside + PRIOR_ROWS * overall / n) / (max(n - n_groups, 0) + PRIOR_ROWS)
    between = (between - (n_groups - 1) * within) / max(n - squares / n, 1)
    factor = MOST_SHRINKAGE
    if between > 0:
        factor = min(max(within / between, LEAST_SHRINKAGE), MOST_SHRINKAGE)
    own = groups.get(group_of[names[row]], [])
    rows = sum(w for w, _ in own)
    return (sum(w * y for w, y in own) + factor * mean) / (rows + factor)


def seen_by(names, targets, weights):
    """What each row sees, (n_rows,), by the encoder's own sums."""
    known = sorted(set(names))
    codes = np.array([known.index(name) for name in names])
    outcomes = Outcomes(np.array(targets, float)[:, None], np.array(weights, float))
    sums = OutcomeSums.of(codes, len(known), outcomes)
    return sums.without_own_part(codes, outcomes.parts)[:, 0]


rows_of_a_column = st.lists(
    st.tuples(
        st.sampled_from("abcdefgh"),
        st.integers(-3, 3).map(float),
        st.sampled_from([0.0, 1.0, 1.0, 2.5]),
    ),
    min_size=1,
    max_size=40,
).filter(lambda rows: any(weight for _, _, weight in rows))


@settings(max_examples=80, deadline=None)
@given(rows_of_a_column, st.sampled_from([0.0, 1e6]))
def test_every_row_sees_what_a_loop_over_the_other_parts_says(rows, centre):
    names, targets, weights = zip(*rows, strict=True)
    targets = [centre + target for target in targets]
    found = seen_by(names, targets, weights)
    expected = [reference(names, targets, weights, row) for row in range(len(rows))]
    np.testing.assert_allclose(found, expected, atol=1e-6)


@settings(max_examples=80, deadline=None)
@given(rows_of_a_column, st.data())
def test_the_own_target_of_a_row_and_targets_held_out_change_nothing(rows, data):
    names, targets, weights = zip(*rows, strict=True)
    row = data.draw(st.integers(0, len(rows) - 1))
    changed = [*targets]
    changed[row] += 100
    before, after = (seen_by(names, own, weights) for own in (targets, changed))
    # Only if all rows are in one part, all of them see their mean.
    parts = parts_of(0, len(rows))[np.array(weights) > 0]
    if len(set(parts.tolist())) > 1:
        np.testing.assert_allclose(after[row], before[row], atol=1e-9)
    if not weights[row]:
        np.testing.assert_allclose(after, before, atol=1e-9)


def test_values_with_a_single_row_share_what_unseen_values_get():
    rng = np.random.RandomState(0)
    names = [*rng.choice(NAMES[:20], 400), *(f"once {i}" for i in range(50))]
    targets = np.r_[rng.randn(400), 5 + rng.randn(50)]
    encoder = learned(pd.DataFrame({"city": names}), targets)
    (column,) = usual_of(encoder)
    # As many of the others as have an indicator are listed.
    assert set(NAMES[:20]) < set(column.values.names)
    once = [
        usual for usual, rows in zip(column.usual, column.values.rows, strict=True) if rows == 1
    ]
    assert once == [column.otherwise] * 43
    assert column.otherwise == pytest.approx(targets[400:].mean(), abs=0.5)
    for cell in ("never seen", "once 3"):
        row = encoder.transform(pd.DataFrame({"city": [cell]}))[0, -1]
        assert row * column.scale + column.mean == pytest.approx(column.otherwise, rel=1e-5)


def learned(X, targets, weights=None, **options):
    weights = np.ones(len(targets)) if weights is None else weights
    values = np.asarray(targets, float).reshape(len(targets), -1)
    return Encoder.fit(X, weights, named=True, outcomes=Outcomes(values, weights), **options)


def usual_of(encoder):
    return [column for column in encoder.columns if isinstance(column, Usual)]


def cities(n_rows=1500):
    rng = np.random.RandomState(0)
    places = np.minimum(rng.geometric(0.06, n_rows) - 1, len(NAMES) - 1)
    effects = rng.randn(len(NAMES))
    column = np.array(NAMES, object)[places]
    column[::17] = None
    return column, effects[places] + 0.1 * rng.randn(n_rows), effects


def test_values_with_many_rows_keep_their_mean_and_few_rows_are_drawn_to_that_of_all():
    column, targets, _ = cities()
    targets = targets + 3 * np.random.RandomState(1).randn(len(targets))
    encoder = learned(pd.DataFrame({"city": column}), targets)
    (usual,) = usual_of(encoder)
    means = {
        name: targets[[one is None if name is None else one == name for one in column]].mean()
        for name in usual.values.names
    }
    assert None in means  # the missing cells are a value too
    n_rows = np.array(usual.values.rows)
    ratios = (np.array(usual.usual) - targets.mean()) / (
        np.array([means[name] for name in usual.values.names]) - targets.mean()
    )
    assert ratios.min() > 0
    order = np.argsort(n_rows)
    assert (np.diff(ratios[order]) >= -1e-9).all()  # the more rows, the nearer to their mean
    assert ratios[order[0]] < 0.5
    assert ratios[order[-1]] > 0.9


@pytest.mark.parametrize("kind", ["object", "category", "string", "polars", "array"])
def test_tables_of_every_kind_get_the_same_usual_outcomes(kind):
    column, targets, _ = cities()
    frame = pd.DataFrame({"city": pd.Series(column, dtype=object)})
    table = {
        "object": lambda: frame,
        "category": lambda: frame.astype("category"),
        "string": lambda: frame.astype("string"),
        "polars": lambda: pl.DataFrame({"city": column.tolist()}),
        "array": lambda: column[:, None],
    }[kind]()
    expected, found = usual_of(learned(frame, targets)), usual_of(learned(table, targets))
    assert found == expected


def test_marked_cells_count_as_missing():
    column, targets, _ = cities()
    frame = pd.DataFrame({"city": column})
    marked = pd.DataFrame({"city": [name or "none" for name in column]})
    expected, found = learned(frame, targets), learned(marked, targets, missing=("none",))
    assert usual_of(found) == usual_of(expected)
    np.testing.assert_array_equal(found.transform(marked), expected.transform(frame))


def test_weights_count_as_rows_in_any_unit_and_rows_without_weight_not_at_all():
    column, targets, _ = cities()
    frame, rng = pd.DataFrame({"city": column}), np.random.RandomState(2)
    weights = rng.randint(0, 3, len(targets)).astype(float)
    (usual,) = usual_of(learned(frame, targets, weights))
    (other,) = usual_of(learned(frame, targets, weights * 1e-3))
    np.testing.assert_allclose(other.usual, usual.usual)
    assert (usual.mean, usual.scale) == pytest.approx((other.mean, other.scale))
    changed = np.where(weights > 0, targets, 1e6)
    assert usual_of(learned(frame, changed, weights)) == [usual]
    heavy = np.array(column, object) == NAMES[0]
    (own,) = usual_of(learned(frame, targets, np.where(heavy, 9.0, 1.0)))
    place = own.values.names.index(NAMES[0])
    assert own.usual[place] == pytest.approx(targets[heavy].mean(), abs=0.01)


def test_columns_with_few_values_or_many_outcomes_have_none():
    rng = np.random.RandomState(0)
    targets = rng.randn(600)
    for n_values, expected in ((FEWEST_VALUES - 1, 0), (FEWEST_VALUES, 1)):
        frame = pd.DataFrame({"city": rng.choice(NAMES[:n_values], 600)})
        assert len(usual_of(learned(frame, targets))) == expected
    frame = pd.DataFrame({"city": rng.choice(NAMES, 600)})
    assert len(usual_of(learned(frame, rng.randn(600, 10)))) == 10
    assert len(usual_of(learned(frame, rng.randn(600, 11)))) == 0
    assert len(usual_of(Encoder.fit(frame, np.ones(600)))) == 0


def test_identifiers_have_none_and_are_warned_of():
    frame = pd.DataFrame({"id": [f"id {i}" for i in range(3000)]})
    encoder = learned(frame, np.random.RandomState(0).randn(3000))
    assert not usual_of(encoder)
    with pytest.warns(match="Rare texts all count as one category, in column 'id' "):
        warn_of_rare(encoder)


def test_no_warning_of_rare_texts_that_usual_outcomes_tell_apart(recwarn):
    rng = np.random.RandomState(0)
    frame = pd.DataFrame({"city": [f"c{i}" for i in rng.randint(0, 200, 3000)]})
    warn_of_rare(learned(frame, rng.randn(3000)))
    assert not recwarn.list


def test_targets_far_from_zero_keep_their_digits():
    column, targets, _ = cities()
    frame = pd.DataFrame({"city": column})
    (near,), (far,) = (usual_of(learned(frame, targets + by)) for by in (0, 1e9))
    np.testing.assert_allclose(np.array(far.usual) - 1e9, near.usual, atol=1e-5)
    assert far.scale == pytest.approx(near.scale, rel=1e-5)


def test_spellings_of_values_without_an_indicator_mean_them_too():
    rng = np.random.RandomState(0)
    codes = np.array([f"{i}" for i in range(1, 201)], object)[rng.randint(0, 200, 4000)]
    encoder = learned(pd.DataFrame({"code": codes}), codes.astype(float))
    known = encoder.spellings(0)
    every = encoder.value_spellings(0)
    rare = next(name for name in every if name not in known and "." not in name)
    assert every[f"{rare}.0"] == rare
    text, number = (
        encoder.transform(pd.DataFrame({"code": pd.Series([cell], dtype=object)}))
        for cell in (rare, float(rare))
    )
    np.testing.assert_array_equal(text, number)
