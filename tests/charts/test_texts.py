"""Names and numbers as charts and pages write them."""

import pytest

from neuralrules._charts._texts import cell_text, plain_text, short, short_resolved


def test_numbers_are_written_for_people():
    assert cell_text(None) == "–"
    assert cell_text(-0.123456) == "−0.123"
    assert cell_text(0.98765, "metric") == "0.9877"
    assert cell_text(0.25, "share") == "25.0\u202f%"
    assert cell_text(12.0, "degrees") == "12.0°"
    assert plain_text(3.0) == "3"
    assert plain_text(0.1) == "0.1"
    assert plain_text(1e300) == "1e+300"
    assert plain_text(1638316800000000.0) == "1638316800000000"
    assert plain_text(-1e16) == "-10000000000000000"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (53451325253.0, "53.45G"),
        (-8976057.2, "−8.976M"),
        (123456.0, "123.5k"),
        (99999.9, "100k"),  # what rounding makes of it decides
        (999999.9, "1M"),
        (99994.0, "99994"),
        (1234.5, "1234"),
        (999.96e9, "1e+12"),
        (1.2345e14, "1.234e+14"),
        (-5.345e-11, "−5.345e−11"),
        (0.0, "0"),
        (-0.25, "−0.25"),
    ],
)
def test_large_and_tiny_numbers_are_short(value, text):
    assert short(value, 4) == text
    assert cell_text(value, "metric") == text


def test_hints_resolve_the_deviation():
    assert short_resolved(1638316800.0, 1e7, 3) == "1.63832G"
    assert short_resolved(12345.67, 10.0, 3) == "12345.67"
    assert short_resolved(0.0, 1.0, 3) == "0"
