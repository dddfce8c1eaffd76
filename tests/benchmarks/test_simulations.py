"""The paper's simulations show what it claims, and the page holds their numbers."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from benchmarks import diagrams, drawing, simulations
from benchmarks.generators import rotated_xor
from neuralrules import NeuralRuleClassifier

PAGE = Path(__file__).parents[2] / "docs" / "simulations.md"


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(False, id="shallow"),
        pytest.param(True, id="deep", marks=pytest.mark.slow),
    ],
)
def evolved(request):
    X, y = rotated_xor(1000, simulations.SEED)
    stages = list(simulations.STAGES)
    return request.param, simulations.evolution(X, y, stages, deep=request.param)


def test_a_rule_starts_as_a_leaf_and_ends_with_hardly_a_negative(evolved):
    _, (start, middle, end) = evolved
    assert [s.iteration for s in (start, middle, end)] == [0, 150, 3000]
    assert start.negatives == 0
    assert 0.3 < start.positives < middle.positives
    assert end.negatives < 0.01 < middle.negatives


def test_only_a_deep_rule_leaves_its_corner_and_its_convex_shape(evolved):
    deep, (start, middle, end) = evolved
    assert start.midpoints_outside == 0
    if deep:
        assert min(middle.midpoints_outside, end.midpoints_outside) > 0.1
        assert end.positives > 0.99
    else:
        assert middle.midpoints_outside == end.midpoints_outside == 0
        assert 0.45 < end.positives < 0.55


def test_the_page_holds_these_numbers(evolved):
    deep, supports = evolved
    name = "deep neural rule" if deep else "neural rule"
    rows = [line for line in PAGE.read_text().splitlines() if line.startswith(f"| {name} |")]
    found = [[float(cell.strip(" %")) for cell in row.split("|")[2:-1]] for row in rows]
    expected = [
        [s.iteration, 100 * s.positives, 100 * s.negatives, 100 * s.midpoints_outside]
        for s in supports
    ]
    # Another processor may round another way, thousands of steps long.
    np.testing.assert_allclose(found, expected, atol=1.0)


def test_hard_rules_need_company_and_neural_rules_do_not(monkeypatch, tmp_path):
    monkeypatch.setattr(simulations, "FIGURES", tmp_path)
    errors = dict(simulations.limits_of_hard_rules())
    assert errors["5 hard rules"] > 2 * errors["20 hard rules"]
    assert errors["20 hard rules"] > 3 * errors["5 neural rules"]
    for name, error in errors.items():
        (shown,) = re.findall(rf"\| {name} \| ([0-9.]+) % \|", PAGE.read_text())
        assert float(shown) == pytest.approx(error, abs=0.5)
    with Image.open(tmp_path / "hard_rules.png") as picture:
        assert picture.width > 3 * picture.height


def test_a_film_has_a_frame_for_each_support_and_rests_at_the_end(tmp_path):
    X, y = rotated_xor(60, 0)
    supports = simulations.evolution(X, y, [0, 3, 6], deep=False)
    drawing.animate(tmp_path / "film.gif", X, y, supports)
    with Image.open(tmp_path / "film.gif") as film:
        pictures, seconds = [], []
        for frame in range(film.n_frames):
            film.seek(frame)
            pictures.append(np.array(film.convert("RGB")))
            seconds.append(film.info["duration"] / 1000)
    assert len(pictures) == 3  # equal frames at the end are one that stays longer
    assert seconds[-1] > 1 > seconds[0]
    assert not np.array_equal(pictures[0], pictures[-1])


@pytest.mark.parametrize("deep", [False, True])
def test_a_diagram_shows_every_weight_of_the_rule(deep):
    model = NeuralRuleClassifier(max_depth=2, n_epochs=0, deep=deep, random_state=0).fit(
        *diagrams.example_table(0)
    )
    rule, network = 1, model.network_
    first, last = network.offsets[rule], network.offsets[rule + 1]
    axes = drawing.plt.figure().add_subplot()
    diagrams.draw_rule(axes, model, rule)
    texts = [text.get_text() for text in axes.texts]
    weights = np.concatenate(
        [network.weights[first:last].ravel(), network.biases[first:last].ravel()]
    )
    expected = [diagrams.signed(float(weight)) for weight in weights]
    if deep:
        expected += ["+1", "0", "0", "+1", "0", "0"]  # the identity, and no shifts
    shown = [text for text in texts if text == "0" or text[0] in "+−"]
    assert sorted(shown) == sorted(expected)
    assert sum(line.get_color() == diagrams.LIGHT for line in axes.lines) == expected.count("0")
    drawing.plt.close("all")
