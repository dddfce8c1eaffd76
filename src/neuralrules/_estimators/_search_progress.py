"""One line that shows how far a search has come."""

from __future__ import annotations

import math
from collections.abc import Sized

import numpy as np

from neuralrules._io._progress import ProgressLine


class SearchProgress(ProgressLine):
    """The line of a search, with fold, candidate and the best score so far."""

    def __init__(self, candidates: Sized, folds: Sized, may_drop: bool, *, shown: bool) -> None:
        super().__init__(shown=shown)
        self._n_candidates, self._n_folds = len(candidates), len(folds)
        self._n_done, self._n_fits, running = 0, 0, self._n_candidates
        for _ in range(self._n_folds):
            self._n_fits += running
            running = math.ceil(running / 2) if may_drop else running
        self.begin(f"fold 1/{self._n_folds} · candidate 1/{self._n_candidates}")

    def update(self, place: int, fold: int, scores: list[list[float]]) -> None:
        """Show the state after a candidate has been trained and scored on a fold.

        `scores` are those of all candidates until now.
        """
        self._n_done += 1
        means = [float(np.mean(own)) if own else -math.inf for own in scores]
        best = int(np.argmax(means))
        self.show(
            self._n_done / self._n_fits,
            f"fold {fold + 1}/{self._n_folds} · candidate {place + 1}/{self._n_candidates} · "
            f"best so far candidate {best + 1}, score {means[best]:.4g}",
        )
