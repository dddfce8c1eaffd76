"""The page of many machines: what is computed there, and that it is of the stored numbers."""

import json

import pytest

from benchmarks import scale
from benchmarks.pages import DOCS, MARKER
from benchmarks.scale_page import draw, render


def stored():
    return json.loads((DOCS / "scale.json").read_text())


def test_the_page_tells_what_was_measured():
    told = (DOCS / "scale.md").read_text().split(MARKER)[1]
    assert told.strip() == render(stored()).strip()


def test_the_picture_can_be_drawn_again(tmp_path):
    draw(stored(), tmp_path / "scale.png")
    assert (tmp_path / "scale.png").read_bytes()[:4] == b"\x89PNG"


def test_reductions_take_as_long_as_their_messages():
    a, n_bytes, link = scale.LATENCY, 25_000, 25
    assert scale.ring(2, n_bytes, link) == pytest.approx(2 * (a + 4e-6))
    assert scale.ring(256, n_bytes, link) == pytest.approx(510 * a + 2 * 255 / 256 * 8e-6)
    assert scale.tree(256, n_bytes, link) == pytest.approx(16 * (a + 8e-6))
    assert scale.tree(5, n_bytes, link) == scale.tree(8, n_bytes, link)


def test_it_stops_where_a_reduction_takes_as_long_as_computing():
    for way, seconds_of in scale.WAYS.items():
        n_workers = scale.half_efficient(5e-4, 25_000, 25, way)
        assert n_workers > 1
        assert seconds_of(n_workers, 25_000, 25) <= 5e-4 < seconds_of(2 * n_workers, 25_000, 25)


def test_the_time_of_computing_lies_between_the_measured_ones():
    steps = [
        {"workers": 1, "rules": 480, "batch": 100, "processor": 1.0},
        {"workers": 1, "rules": 480, "batch": 300, "processor": 2.0},
        {"workers": 2, "rules": 480, "batch": 100, "processor": 9.0},
        {"workers": 1, "rules": 128, "batch": 100, "processor": 9.0},
    ]
    assert scale.compute_of(steps, 480, 200) == pytest.approx(1.5)
