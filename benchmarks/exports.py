"""The speed and the size of an exported model, compared with gradient boosting.

    python -m benchmarks.exports [--data FOLDER] [--quick] [--write]

On each data set, a model of 100 rules and scikit-learn's gradient boosting of 100 trees (its
default) are written as ONNX, ours by `to_onnx` and the other by skl2onnx. Both score the same
rows in onnxruntime. The two models take turns of a few calls each, and the median of the
ratios of their times counts. Our model is also written like a model that was fitted on a
frame, in which each column is an input of its own.

--write puts the results into docs/exports.md, with versions, CPU and commit.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import onnxruntime
from skl2onnx import convert_sklearn
from skl2onnx.common.data_types import FloatTensorType
from sklearn.ensemble import GradientBoostingClassifier

from benchmarks.datasets import data_folder, load
from benchmarks.pages import DOCS, environment, environment_list, write_page
from neuralrules import NeuralRuleClassifier
from neuralrules._export._onnx import to_onnx

NAMES = ("magic", "spambase", "adult", "churn")
RULES = 100
DEPTHS = range(7, 15)  # the smallest depth with RULES leaves is taken
THREADS = (1, 2)
TURNS = 25
BATCHES = {1: 100, 1_000: 10, 100_000: 1}  # rows per call: calls per turn
AGREEMENT = 1e-5


def saved(model: NeuralRuleClassifier) -> bytes:
    """The bytes of the model file, which also holds the state to continue training."""
    with tempfile.TemporaryDirectory() as folder:
        return model.save(Path(folder) / "model.nrules").read_bytes()


# The formats whose size in bytes is measured.
FORMATS: dict[str, Callable[[NeuralRuleClassifier], bytes]] = {
    "ONNX": lambda model: model.to_onnx().SerializeToString(),
    "SQL": lambda model: model.to_sql("rows").encode(),
    "Python": lambda model: model.to_python().encode(),
    "model file": saved,
}


def rule_model(X: np.ndarray, y: np.ndarray) -> NeuralRuleClassifier:
    """A model of exactly RULES rules, from the shallowest tree with enough leaves."""
    for depth in DEPTHS:
        model = NeuralRuleClassifier.paper(depth, max_rules=RULES, n_epochs=0, random_state=0)
        if model.fit(X, y).network_.n_rules == RULES:
            return model.set_params(n_epochs=200).fit(X, y)
    raise ValueError(f"No tree up to depth {DEPTHS[-1]} has {RULES} leaves on this table.")


def boosting_onnx(X: np.ndarray, y: np.ndarray) -> bytes:
    """Boosting of 100 trees as ONNX from skl2onnx, with probabilities as a plain table."""
    model = GradientBoostingClassifier(random_state=0).fit(X, y)
    inputs = [("X", FloatTensorType([None, X.shape[1]]))]
    proto = convert_sklearn(model, initial_types=inputs, options={"zipmap": False})
    return proto.SerializeToString()


def frame_onnx(model: NeuralRuleClassifier) -> bytes:
    """The ONNX of the model as if it had been fitted on a frame: an input for each column."""
    fitted = model.fitted_
    named = replace(fitted, encoder=replace(fitted.encoder, named=True))
    return to_onnx(named).SerializeToString()


def session(data: bytes, n_threads: int) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = n_threads
    return onnxruntime.InferenceSession(data, options, ["CPUExecutionProvider"])


def in_turns(works: list[Callable[[], object]], n_calls: int, n_turns: int) -> np.ndarray:
    """Seconds per call of each function in each turn, (n_turns, n_works).

    The first call of a turn does not count: the threads of the previous model still wait for
    work for a while, and use the core.
    """
    seconds = np.empty((n_turns, len(works)))
    for turn in range(n_turns):
        for place, work in enumerate(works):
            work()
            start = time.perf_counter()
            for _ in range(n_calls):
                work()
            seconds[turn, place] = (time.perf_counter() - start) / n_calls
    return seconds


def speed(ours: bytes, frame: bytes, theirs: bytes, X: np.ndarray, n_turns: int) -> list[dict]:
    """Rows per second of the three exports on 1 and 2 threads, in calls of several sizes."""
    records = []
    random_state = np.random.RandomState(0)
    for n_rows, n_calls in BATCHES.items():
        rows = np.ascontiguousarray(X[random_state.randint(len(X), size=n_rows)])
        single = rows.astype(np.float32)  # the input type of skl2onnx's model
        for n_threads in THREADS:
            apart = session(frame, n_threads)
            columns = np.ascontiguousarray(rows.T)[:, :, None]
            names = [value.name for value in apart.get_inputs()]
            works = [
                partial(session(ours, n_threads).run, None, {"X": rows}),
                partial(apart.run, None, dict(zip(names, columns, strict=True))),
                partial(session(theirs, n_threads).run, None, {"X": single}),
            ]
            seconds = in_turns(works, n_calls, n_turns)
            per_second = n_rows / np.median(seconds, axis=0)
            ratios = seconds[:, 2] / seconds[:, 0]
            records.append(
                {
                    "batch": n_rows,
                    "threads": n_threads,
                    "ours": float(per_second[0]),
                    "frame": float(per_second[1]),
                    "theirs": float(per_second[2]),
                    "ratio": float(np.median(ratios)),
                    "low": float(np.quantile(ratios, 0.25)),
                    "high": float(np.quantile(ratios, 0.75)),
                }
            )
    return records


def table_record(name: str, X: np.ndarray, y: np.ndarray, n_turns: int) -> dict:
    """All measurements on one data set."""
    model, theirs = rule_model(X, y), boosting_onnx(X, y)
    written = {kind: write(model) for kind, write in FORMATS.items()}
    labels, probabilities = session(written["ONNX"], 1).run(None, {"X": X})
    return {
        "name": name,
        "rows": len(X),
        "columns": X.shape[1],
        "rules": model.network_.n_rules,
        "literals": model.network_.n_literals,
        "parameters": model.network_.n_parameters,
        "used": int(model.network_.features.size),
        "labels": int((labels != model.predict(X)).sum()),
        "difference": float(np.abs(probabilities - model.predict_proba(X)).max()),
        "bytes": {kind: len(data) for kind, data in written.items()},
        "boosting_bytes": len(theirs),
        "speed": speed(written["ONNX"], frame_onnx(model), theirs, X, n_turns),
    }


def bars(records: list[dict]) -> list[tuple[str, str, bool]]:
    """The goals for exports: the claim, the measured number, and whether the claim holds."""
    found = []
    for record in records:
        claim = f"{record['name']}: probabilities within {AGREEMENT:g} of the model's"
        difference = record["difference"]
        found.append((claim, f"{difference:.1e}", difference <= AGREEMENT))
        for line in record["speed"]:
            if line["batch"] > 1:  # a single row: no bar, see docs/exports.md
                claim = (
                    f"{record['name']}: at least as many rows per second as boosting, "
                    f"{line['batch']:,} rows a call, {threads_text(line['threads'])}"
                )
                found.append((claim, f"{line['ratio']:.2f} ×", line["ratio"] >= 1))
    return found


def threads_text(n_threads: int) -> str:
    return "1 thread" if n_threads == 1 else f"{n_threads} threads"


def speed_table(records: list[dict]) -> list[str]:
    lines = [
        "### Speed",
        "",
        "Rows per second in onnxruntime; *of a frame* is the same model with an input for each "
        "column; *ratio* is ours to boosting's, both with one table as input, the median over "
        "the turns and its quartiles.",
        "",
        "| data | rows a call | threads | 100 rules | of a frame | 100 trees | ratio "
        "| quartiles |",
        "|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    lines += [
        f"| {record['name']} | {line['batch']:,} | {line['threads']} | {line['ours']:,.0f} "
        f"| {line['frame']:,.0f} | {line['theirs']:,.0f} | **{line['ratio']:.2f}** "
        f"| {line['low']:.2f} to {line['high']:.2f} |"
        for record in records
        for line in record["speed"]
    ]
    return lines


def size_table(records: list[dict]) -> list[str]:
    kinds = list(records[0]["bytes"])
    lines = [
        "### Size",
        "",
        "Bytes. *Columns* are those that the model uses, of those of the table; *difference* "
        "is the largest to the model's own probabilities over all rows, *labels* how many of "
        "them fall otherwise.",
        "",
        f"| data | columns | literals | parameters | {' | '.join(kinds)} | boosting's ONNX "
        "| difference | labels |",
        f"|---|--:|--:|--:|{'--:|' * len(kinds)}--:|--:|--:|",
    ]
    for record in records:
        sizes = " | ".join(f"{record['bytes'][kind]:,}" for kind in kinds)
        lines.append(
            f"| {record['name']} | {record['used']} of {record['columns']} "
            f"| {record['literals']:,} | {record['parameters']:,} | {sizes} "
            f"| {record['boosting_bytes']:,} | {record['difference']:.1e} "
            f"| {record['labels']} |"
        )
    return lines


def render(results: dict) -> str:
    """The results as Markdown."""
    checked = [
        f"| {claim} | {measured} | {'yes' if holds else '**no**'} |"
        for claim, measured, holds in bars(results["tables"])
    ]
    lines = [
        "### Bars",
        "",
        "| bar | measured | met |",
        "|---|--:|---|",
        *checked,
        "",
        *speed_table(results["tables"]),
        "",
        *size_table(results["tables"]),
        "",
        "### Where",
        "",
        environment_list(results["environment"]),
    ]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", help="folder of the data sets")
    parser.add_argument("--quick", action="store_true", help="few calls")
    parser.add_argument("--write", action="store_true", help="update docs/exports.md")
    options = parser.parse_args()
    folder = data_folder(options.data)
    where = environment("onnx", "onnxruntime", "skl2onnx")  # of the code that is about to run
    results: dict = {"tables": [], "environment": where}
    for name in NAMES:
        print(f"{name} …", file=sys.stderr, flush=True)
        X, y = load(name, folder)
        results["tables"].append(table_record(name, X, y, 5 if options.quick else TURNS))
    text = render(results)
    print(text)
    if options.write:
        write_page("exports.md", text)
        (DOCS / "exports.json").write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
