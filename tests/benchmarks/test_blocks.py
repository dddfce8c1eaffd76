"""The blocks of pages: what they print, and when that is what the page says."""

from __future__ import annotations

import pytest

from benchmarks import blocks

PAGE = """# A page

```python
number = 2 / 3
print("two thirds", number)
```

```text
two thirds 0.6666
```

```python
import os
```

```bash
echo "$(ls) and 3 words"
```

```text
nothing yet
```
"""


def test_what_is_printed_is_written_into_the_page(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(PAGE)
    blocks.refresh(page)
    text = page.read_text()
    assert blocks.expected(text) == blocks.outputs(text)
    assert blocks.expected(text) == [
        "two thirds 0.6666666666666666\n",
        "",
        "examples and 3 words\n",
    ]
    assert text.count("```") == PAGE.count("```")


def test_a_block_that_fails_is_no_output():
    with pytest.raises(AssertionError, match="ZeroDivisionError"):
        blocks.outputs("```python\n1 / 0\n```\n")


RULE = "Rule 5: value 2.24 for malignant (covers 46 % of 1,251 rows)\n  now   a - 16.56·b < …\n"


@pytest.mark.parametrize(
    ("expected", "printed"),
    [
        (RULE, RULE),
        ("difference -3.2345486045567884", "difference -3.234548604556789"),
        ("1.0526865766228864e-05,x", "1.0526860074937885e-05,x"),
        (RULE, RULE.replace("2.24", "2.25")),  # one unit of the last digit
        (RULE, RULE.replace("16.56", "16.55")),
        (RULE, RULE.replace("1,251", "1,250")),  # four digits are shown, the last is rounded
        ("R² 0.9711,  -0.6656", "R² 0.971, -0.6656"),  # a digit 0 at the end is not shown
        ("a  1.001\nb 10.000", "a 1.000\nb  9.999"),
        ("0.000", "-0.001"),
        ("9.8 kB.", "9.9 kB."),
    ],
)
def test_what_another_cpu_may_print_agrees(expected, printed):
    assert blocks.differences(expected, printed) == []


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("malignant", "benign"),
        ("Rule 5", "Rule 4"),
        ("46 %", "47 %"),
        ("46 %", "46.0 ‰"),
        ("%", ""),
        ("…", "..."),
        ("a - 16.56", "a + 16.56"),
        ("a - 16.56·b", "a - 16.56·c"),
        ("2.24", "-2.24"),
        ("2.24", "2.26"),
        ("2.24", "nan"),
        ("16.56", "16.58"),
        ("1,251", "1,253"),
        ("1,251", "12.51"),
        ("now ", "and "),
        ("  now   a - 16.56·b < …\n", ""),
        ("\n  now", "\n\n  now"),
        ("\n  now", " now"),
    ],
)
def test_a_changed_word_number_or_line_is_found(before, after):
    changed = RULE.replace(before, after)
    assert changed != RULE
    assert len(blocks.differences(RULE, changed, blocks.TRAINED)) == 1


@pytest.mark.parametrize(
    ("expected", "printed", "relative"),
    [
        ("-3.2345486045567884", "-3.2345526045567884", 1e-6),
        ("14.81609740175395", "14.81787740175395", blocks.TRAINED),
        ("1.0526865766228864e-05", "1.0528865766228864e-05", blocks.TRAINED),
        ("1e-08", "3e-08", blocks.TRAINED),
        ("accuracy 1", "accuracy 0.9999", blocks.TRAINED),
        ("N002 7", "N003 7", blocks.TRAINED),
        ("3 rules", "4 rules", blocks.TRAINED),
        ("rules", "", blocks.TRAINED),
    ],
)
def test_a_number_off_by_more_than_is_promised_is_found(expected, printed, relative):
    assert blocks.differences(expected, printed, relative) != []


def test_a_difference_is_said_with_its_line():
    assert blocks.differences("one\ntwo 0.5\n", "one\ntwo 0.7\n") == [
        "line 2: 'two 0.5' expected, 'two 0.7' printed"
    ]
    assert blocks.differences("one\n", "one\ntwo\n") == [
        "1 lines expected, 2 printed:\none\ntwo\n"
    ]
