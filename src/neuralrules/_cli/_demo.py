"""`neuralrules demo`: the method on two small tables, from rows to the files of a model."""

from __future__ import annotations

import shlex
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from neuralrules._cli._console import Console, aligned, bytes_text, folded
from neuralrules._cli._errors import InputError, library_errors
from neuralrules._cli._options import command, output_file

if TYPE_CHECKING:
    import pandas as pd

FOLDER = "neuralrules-demo"
TABLES = {
    "Rotated XOR": "borders that follow no axis",
    "Breast cancer": "is a tumour malignant, by measurements of its cells",
}
OURS = "neural rules"
FILES = {
    "breast_cancer.csv": "the table",
    "breast_cancer.nrules": "the model",
    "scores.csv": "its predictions, made from the two",
    "breast_cancer.html": "a report: open it in a browser",
    "breast_cancer.py": "the model as Python code that needs no package",
}


@command("neuralrules demo", "neuralrules demo -o tour")
def demo(
    *,
    output: str = output_file(
        "FOLDER", f"The folder to write into.  [default: {FOLDER}]", default=FOLDER
    ),
    console: Console,
) -> None:
    """Show the method at work, in about a minute.

    The method is compared with other methods on two small tables, and its rules are
    printed. Then a model is shipped: saved, scored, reported and exported.
    """
    from sklearn.datasets import load_breast_cancer

    from neuralrules import NeuralRuleClassifier

    folder = Path(output)
    if folder.exists() and not folder.is_dir():
        raise InputError(f"--output {str(folder)!r} is a file. Give the name of a folder.")
    folder.mkdir(parents=True, exist_ok=True)
    cancer = load_breast_cancer(as_frame=True)
    X, y = cancer.data, cancer.target_names[cancer.target]
    start = time.perf_counter()
    with console.progress("Compiling the kernels, once"):  # so that no later timing includes it
        NeuralRuleClassifier(2, n_epochs=1).fit(X, y).predict(X)
    console.tell(f"Compiled the kernels in {time.perf_counter() - start:.1f} s.\n")

    scores = {}
    for name, table in zip(TABLES, (rotated_xor(), (X, y)), strict=True):
        model, scores[name] = compare(name, *table, console)
    small = read(model, X, y, console)
    with library_errors(), console.progress("Writing the files"):
        ship(small, X, y, folder)
    sizes = {name: (folder / name).stat().st_size for name in FILES}
    files = [(name, f"{bytes_text(sizes[name]):>8}  {what}") for name, what in FILES.items()]
    console.summary(
        f"\nReady to ship, in the folder {folder}:\n\n{aligned(files)}\n\nGo on with\n\n"
        f"  cd {shlex.quote(str(folder))}\n"
        "  neuralrules evaluate breast_cancer.nrules breast_cancer.csv\n"
        "  neuralrules explain breast_cancer.nrules breast_cancer.csv --row 1\n"
        "  neuralrules export breast_cancer.nrules --format sql --table patients",
        {"folder": str(folder), "files": sizes, "test_scores": scores},
    )


def rotated_xor(n_rows: int = 2000) -> tuple[np.ndarray, np.ndarray]:
    """Rows of two classes in opposite quadrants, turned by 45 degrees, with a little noise."""
    rng = np.random.RandomState(0)
    square = rng.uniform(-1, 1, (n_rows, 2))
    y = (square[:, 0] * square[:, 1] > 0).astype(int)
    turned = square @ np.array([[1, -1], [1, 1]]) / np.sqrt(2)
    return turned + rng.normal(0, 0.02, turned.shape), y


def compare(
    name: str, X: Any, y: np.ndarray, console: Console
) -> tuple[Any, dict[str, dict[str, float]]]:
    """Print test scores of four models over five folds.

    Returns the first model, fitted on all rows, and the scores by model.
    """
    from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
    from sklearn.model_selection import StratifiedKFold, cross_validate
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    from neuralrules import NeuralRuleClassifier

    models = {
        OURS: NeuralRuleClassifier(random_state=0),
        "random forest": RandomForestClassifier(random_state=0),
        "gradient boosting": GradientBoostingClassifier(random_state=0),
        "MLP(100)": make_pipeline(
            StandardScaler(), MLPClassifier(100, max_iter=1000, random_state=0)
        ),
    }
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    console.tell(f"{name} ({X.shape[0]} rows, {X.shape[1]} columns): {TABLES[name]}\n")
    console.tell(f"  {'model':<20}{'error':>8}{'log loss':>10}{'parameters':>12}{'fit':>10}")
    scores = {}
    for label, model in models.items():
        with console.progress(f"  {label:<20}"):
            found = cross_validate(model, X, y, cv=folds, scoring=("accuracy", "neg_log_loss"))
            error = float(1 - found["test_accuracy"].mean())
            loss = float(-found["test_neg_log_loss"].mean())
            start = time.perf_counter()
            model.fit(X, y)
            seconds = time.perf_counter() - start
        size = n_parameters(model)
        scores[label] = {"error": error, "log_loss": loss, "n_parameters": size}
        console.tell(
            f"  {label:<20}{100 * error:>6.1f} %{loss:>10.3f}{size:>12,}{seconds:>8.2f} s"
        )
    console.tell(f"\n{folded(f'On the test rows of five folds. {verdict(scores)}')}\n")
    return models[OURS], scores


def verdict(scores: dict[str, dict[str, float]]) -> str:
    """A text that ranks neural rules among the other methods, by the digits that are shown."""
    ours, others = scores[OURS], [score for label, score in scores.items() if label != OURS]

    def standing(key: str, digits: int) -> str:
        better = sum(round(other[key], digits) < round(ours[key], digits) for other in others)
        return ("the lowest", "the second lowest", "the third lowest", "the highest")[better]

    forest = scores["random forest"]["n_parameters"] / ours["n_parameters"]
    size = f"{forest:.1f} times smaller" if forest > 1 else f"{1 / forest:.1f} times larger"
    return (
        f"Of the four, neural rules have {standing('log_loss', 3)} log loss and "
        f"{standing('error', 3)} error, and are {size} than the forest."
    )


def n_parameters(model: Any) -> int:
    """How many numbers make up a fitted model. A node of a tree counts as one number."""
    if hasattr(model, "network_"):
        return int(model.network_.n_parameters)
    if hasattr(model, "estimators_"):
        return sum(tree.tree_.node_count for tree in np.ravel(model.estimators_))
    return sum(layer.size for layer in [*model[-1].coefs_, *model[-1].intercepts_])


def read(model: Any, X: pd.DataFrame, y: np.ndarray, console: Console) -> Any:
    """Simplify a model, and print its rules, one explanation and one counterfactual."""
    with console.progress("Simplifying"):
        small = model.simplify(X, y)
    before, after = model.network_.n_parameters, small.network_.n_parameters
    console.tell(f"Simplified from {before} to {after} parameters, its rules are:\n")
    console.tell(folded(small.rules_text()))
    console.tell("\nWhy the first row is predicted like that:\n")
    console.tell(folded(str(small.explain(X[:1]))))
    console.tell("\nThe smallest change of the first row that changes its prediction:\n")
    console.tell(folded(str(small.counterfactual(X[:1]))))
    return small


def ship(model: Any, X: pd.DataFrame, y: np.ndarray, folder: Path) -> None:
    """Save the model, score the table with the saved model, and write report and export."""
    from neuralrules import load
    from neuralrules._cli._models import note
    from neuralrules._cli._tables import open_output
    from neuralrules._io._writing import whole_file

    table, saved, scores, page, module = (folder / name for name in FILES)
    note(model, targets=["diagnosis"], missing=[])
    model.save(saved)
    loaded = load(saved)
    probabilities = loaded.predict_proba(X).T
    by_class = {
        f"probability_{label}": column
        for label, column in zip(loaded.classes_, probabilities, strict=True)
    }
    with open_output(str(table)) as writer:
        writer.write(X.assign(diagnosis=y))
    with open_output(str(scores)) as writer:
        writer.write(X[[]].assign(prediction=loaded.predict(X), **by_class))
    loaded.report(page, X, y, title="Breast cancer")
    with whole_file(module) as file:
        file.write(loaded.to_python().encode())
