"""A checkpoint file, from which a killed fit can continue.

The encoding and the rules depend only on the table, the parameters and the seed. So a fit that
continues repeats the steps before training. The file holds the numbers that training changes,
and a digest of everything that training began from.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from neuralrules._engine._adam import Moments
from neuralrules._files._container import ModelFileError, pack, unpack
from neuralrules._io._writing import checked_path, whole_file
from neuralrules._network._parameters import Parameters
from neuralrules._training._training import Best, State, TrainingOutcome
from neuralrules._version import __version__

KIND = "neuralrules checkpoint"


@dataclass(frozen=True)
class Stage:
    """The progress of one stage of training.

    Attributes
    ----------
    outcome, best : TrainingOutcome, Best, or None
        The result of the completed epochs, and the best network so far; None before training
        begins.
    n_blocks : int
        How many blocks of rows of the current epoch are done.
    total : float
        The sum of the losses of these blocks.
    """

    state: State
    outcome: TrainingOutcome | None = None
    best: Best | None = None
    n_blocks: int = 0
    total: float = 0.0

    def with_epoch(self, outcome: TrainingOutcome, best: Best) -> Stage:
        """The progress after one more epoch, before the first block of the next one."""
        return replace(self, outcome=outcome, best=best, n_blocks=0, total=0.0)

    def with_block(self, state: State, total: float) -> Stage:
        """The progress after one more block; `total` is the sum of the losses of all blocks."""
        return replace(self, state=state, n_blocks=self.n_blocks + 1, total=total)


@dataclass
class Checkpoint:
    """The content of a checkpoint file, and where to write the file.

    Attributes
    ----------
    path : Path or None
        None means that no file is written.
    arrays, document : dict
        The numbers and the description of the stages so far.
    digest : str
        A digest of what training begins from, set before the first stage.
    """

    path: Path | None
    seed: int
    arrays: dict[str, np.ndarray] = field(default_factory=dict)
    document: dict[str, Any] = field(default_factory=dict)
    digest: str = ""

    @classmethod
    def at(cls, path: str | os.PathLike[str] | None, seed: int) -> Checkpoint:
        """The checkpoint in a file if the file exists, else a new checkpoint."""
        if path is None:
            return cls(None, seed)
        target = checked_path(path, "fit.checkpoint")
        if not target.exists():
            return cls(target, seed)
        try:
            arrays, text = unpack(target.read_bytes())
            document = json.loads(text)
            if document.get("kind") != KIND:
                raise ModelFileError("it is a model.")
            return cls(target, document["seed"], arrays, document["stages"], document["digest"])
        except (ModelFileError, KeyError, json.JSONDecodeError) as error:
            raise ValueError(
                f"checkpoint={str(path)!r} is no checkpoint of a fit, or damaged ({error}). "
                "Give another path, or remove the file."
            ) from error

    def begin(self, digest: str) -> None:
        """Refuse to continue a fit of another table, other parameters or another start."""
        if self.digest and self.digest != digest:
            raise ValueError(
                f"checkpoint={str(self.path)!r} is of another fit: the files, a parameter or "
                "the version of neuralrules are not the same. Fit as before, or give another "
                "path to begin anew."
            )
        self.digest = digest

    def stage(self, number: int, start: State) -> Stage:
        """The progress of the stage `number`, which began at `start`."""
        said = self.document.get(str(number))
        if said is None:
            return Stage(start)
        now, means, squares = (
            self._parameters(number, part) for part in ("now", "means", "squares")
        )
        moments = Moments(means, squares, said["n_steps"])
        state, best = State(start.network.with_parameters(now), moments), Best()
        if said["has_best"]:
            best.loss, best.epoch = said["best_loss"], said["best_epoch"]
            best.network = start.network  # its intercept is not float32 yet
            if best.epoch >= 0:
                best.network = start.network.with_parameters(self._parameters(number, "best"))
        outcome = TrainingOutcome(state, said["history"], said["n_epochs"])
        return Stage(state, outcome, best, said["n_blocks"], said["total"])

    def write(self, number: int, stage: Stage) -> None:
        """Write the progress of a stage; the file is replaced as a whole."""
        if self.path is None:
            return
        assert stage.outcome is not None  # training has begun
        assert stage.best is not None
        best, moments = stage.best, stage.state.moments
        parts = {
            "now": stage.state.network.parameters,
            "means": moments.means,
            "squares": moments.squares,
        }
        if best.network is not None:
            parts["best"] = best.network.parameters
        for part, parameters in parts.items():
            for name, array in parameters._asdict().items():
                self.arrays[f"{number}.{part}.{name}"] = array
        self.document[str(number)] = {
            "n_steps": int(moments.n_steps),
            "has_best": best.network is not None,
            "best_loss": best.loss,
            "best_epoch": best.epoch,
            "history": stage.outcome.history,
            "n_epochs": stage.outcome.n_epochs,
            "n_blocks": stage.n_blocks,
            "total": stage.total,
        }
        document = {
            "kind": KIND,
            "seed": self.seed,
            "digest": self.digest,
            "stages": self.document,
        }
        with whole_file(self.path) as file:
            file.write(pack(self.arrays, json.dumps(document), __version__))

    def finish(self) -> None:
        """Remove the file, because the fit is complete."""
        if self.path is not None:
            self.path.unlink(missing_ok=True)

    def _parameters(self, number: int, part: str) -> Parameters:
        return Parameters(
            *(self.arrays[f"{number}.{part}.{name}"] for name in Parameters._fields)
        )
