"""The page of the measurements on a GPU, from made-up ones."""

import json

from benchmarks import gpu_page

RECORD = {
    "environment": {"GPU": "One", "numba": None},
    "left_out": ["a whole fit: no time was left"],
    "rates": [{"multiply_adds": 33e12, "product": 26e12, "copied_bytes": 4.2e12}],
    "checks": [
        {"outputs": 3, "one_step": 1e-6, "one_epoch": 2e-5, "again": 0.0, "again_epoch": 0.0}
    ],
    "epochs": [
        {
            "rows": 10_000_000,
            "columns": 20,
            "rules": 480,
            "batch": batch,
            "seconds": 0.02,
            "bound": 0.005,
            "plain_seconds": plain,
        }
        for batch, plain in ((8192, 2.0), (256, None))
    ],
    "numba": [{"rules": 480, "batch": 8192, "threads": 16, "seconds_per_million": 0.3}],
}


def test_the_page_says_how_far_epochs_are_from_their_bound_and_from_others():
    page = gpu_page.render(RECORD)
    assert "| 480 | 8,192 | 20.0 | 5.0 | 25% | 2,000 | 100 | 3,000 | 150 |" in page
    assert "| 480 | 256 | 20.0 | 5.0 | 25% | – | – | – | – |" in page
    assert "- float32: 33.0 T multiply-adds a second in registers, 26.0 T" in page
    assert "- 3 outputs: after a step the kernels differ from plain torch by 1e-06" in page
    assert "numba: None" not in page
    assert "## Whole fits" not in page
    assert "- a whole fit: no time was left" in page


def test_bars_are_judged():
    fits = [{"rows": 10_000_000, "seconds": 31.0, "epochs": 3, "rules": 128}]
    page = gpu_page.render(RECORD | {"fits": fits})
    assert "at 25% of their bound: reached; they are at 25% to 25%" in page
    assert "50 times plain torch there: reached; 100 to 100 times" in page
    assert "in 30 s: **not reached**, 31.0 s" in page
    slow = [one | {"seconds": 0.05} for one in RECORD["epochs"]]
    page = gpu_page.render(RECORD | {"epochs": slow})
    assert "of their bound: **not reached**; they are at 10% to 10%" in page
    assert "there: **not reached**; 40 to 40 times" in page


def test_the_committed_page_is_that_of_the_committed_record():
    record = json.loads((gpu_page.DOCS / "gpu.json").read_text())
    assert (gpu_page.DOCS / "gpu.md").read_text() == gpu_page.render(record)
