"""The package as a whole: imports, cache, documentation, memory."""

import inspect
import os
import re
import subprocess
import sys
import textwrap
import tomllib
from pathlib import Path

import pytest
from numpydoc.docscrape import NumpyDocString
from platforms import linux, unix

import neuralrules
from benchmarks import blocks
from neuralrules._engine._kernels._compile import VECTORS

ROOT = Path(__file__).resolve().parents[1]
PUBLIC = [getattr(neuralrules, name) for name in neuralrules.__all__]
ESTIMATORS = [item for item in PUBLIC if hasattr(item, "fit")]


def run(script, **environment):
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(script)],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_import_is_light():
    """It loads the library and nothing else that scikit-learn's import has not loaded."""
    loaded = set(run("import sys; from neuralrules import *; print(*sys.modules)").split())
    anyway = set(run("import sys, sklearn.ensemble; print(*sys.modules)").split())
    packages = {name.partition(".")[0] for name in loaded - anyway}
    assert packages - sys.stdlib_module_names == {"neuralrules"}
    assert "numba" not in loaded
    assert "sklearn" not in run("import sys, neuralrules; print(*sys.modules)").split()


def test_all_names_are_there_and_no_others():
    assert set(neuralrules.__all__) <= set(dir(neuralrules))
    for name in neuralrules.__all__:
        assert getattr(neuralrules, name).__name__ == name
    with pytest.raises(AttributeError, match=r"^module 'neuralrules' has no attribute 'fit'$"):
        _ = neuralrules.fit


FIT = """
    from sklearn.datasets import load_iris
    from neuralrules import NeuralRuleClassifier
    from neuralrules._engine._kernels import _forward, _train
    NeuralRuleClassifier(2, n_epochs={n_epochs}, batch_size=32).fit(*load_iris(return_X_y=True))
    for kernel in (_train.train_part, _forward.decide):
        stats = kernel.stats
        print(sum(stats.cache_hits.values()), sum(stats.cache_misses.values()))
"""
WHERE = """
    from neuralrules._engine._kernels import _forward
    print(_forward.decide.stats.cache_path)
"""
TRAIN_AND_DECIDE = FIT.format(n_epochs=1)
DECIDE = FIT.format(n_epochs=0)  # the smaller kernel alone, which compiles in some seconds


def test_a_second_process_does_not_compile_again():
    run(TRAIN_AND_DECIDE)
    assert run(TRAIN_AND_DECIDE).split() == ["1", "0", "1", "0"]


def test_a_cache_that_cannot_be_written_is_no_error(tmp_path):
    blocked = tmp_path / "a file, not a folder"
    blocked.write_text("")
    script = DECIDE.partition("    for kernel")[0]
    run(script, NUMBA_CACHE_DIR=str(blocked / "cache"))


@pytest.mark.slow  # it compiles
def test_a_damaged_cache_is_no_error(tmp_path):
    run(DECIDE)
    other = {"NUMBA_CACHE_DIR": str(tmp_path)}
    copies = Path(run(WHERE, **other).strip())
    copies.mkdir(exist_ok=True)
    for compiled in Path(run(WHERE).strip()).glob("*.nb*"):
        cut = -20 if compiled.suffix == ".nbi" else None
        (copies / compiled.name).write_bytes(compiled.read_bytes()[:cut])
    assert len(list(copies.glob("*.nbi"))) > 10
    assert run(DECIDE, **other).split() == ["0", "0", "0", "1"]
    assert run(DECIDE, **other).split() == ["0", "0", "1", "0"]


@linux
def test_fits_in_threads_and_after_a_fork():
    script = """
        import os
        from concurrent.futures import ThreadPoolExecutor
        import numpy as np
        from sklearn.datasets import load_breast_cancer
        from neuralrules import NeuralRuleClassifier
        X, y = load_breast_cancer(return_X_y=True)
        def fit(seed):
            model = NeuralRuleClassifier(4, n_epochs=5, n_jobs=2, random_state=0)
            return model.fit(X, y).decision_function(X)
        with ThreadPoolExecutor(4) as threads:
            first, *others = threads.map(fit, range(4))
        assert all((first == other).all() for other in others)
        import warnings
        warnings.simplefilter("ignore")  # forking with threads about is what is tested
        child = os.fork()
        if child == 0:
            os._exit(0 if (fit(0) == first).all() else 1)
        assert os.waitpid(child, 0)[1] == 0
    """
    run(script)


@linux
def test_memory_beyond_the_table_is_bounded():
    """One float32 copy of the table and 200 MB, for training and for prediction."""
    script = """
        import resource
        import numpy as np
        from neuralrules import NeuralRuleClassifier
        def peak():
            return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        rng = np.random.RandomState(0)
        X = rng.randn(1_000_000, 8)
        y = X[:, 0] * X[:, 1] > 0
        NeuralRuleClassifier(2, n_epochs=1).fit(X[:1000], y[:1000]).predict(X[:1000])
        before = peak()
        model = NeuralRuleClassifier(3, n_epochs=1, n_jobs=2).fit(X, y)
        fitted = peak()
        model.predict(X)
        predicted = peak()
        copy = 4 * X.size
        print((fitted - before - copy) / 1e6, (predicted - fitted) / 1e6)
    """
    beyond_in_fit, more_in_prediction = map(float, run(script).split())
    assert beyond_in_fit < 200
    assert more_in_prediction < 100


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_documented_parameters_and_defaults_are_the_real_ones(estimator):
    sections = NumpyDocString(inspect.getdoc(estimator))
    documented = {
        one.name: one.type.partition(", default=")[2] for one in sections["Parameters"]
    }
    signature = inspect.signature(estimator)
    assert list(documented) == list(signature.parameters)
    for name, parameter in signature.parameters.items():
        assert documented[name] == repr(parameter.default)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_docstrings_are_filled_in(estimator):
    assert "{" not in re.sub(r'\{"[^}]*\}', "", estimator.__doc__)
    for name, method in inspect.getmembers(estimator, inspect.isfunction):
        if not name.startswith("_") and method.__module__.startswith("neuralrules"):
            assert method.__doc__, name


# Pages whose blocks run in `make test`. The others go ways that other tests go, too:
# test_whole_path.py that of docs/shipping.md in one process.
FAST = {"README.md", "docs/index.md", "docs/method.md", "docs/reading.md", "docs/start.md"}
PAGES = [
    pytest.param(name, marks=[] if name in FAST else pytest.mark.slow)
    for name in ("README.md", *(str(p.relative_to(ROOT)) for p in ROOT.glob("docs/**/*.md")))
    if "_build" not in name and "\n```text\n" in (ROOT / name).read_text()
]


def test_all_guides_are_among_the_pages_that_run():
    guides = {str(path.relative_to(ROOT)) for path in ROOT.glob("docs/guides/*.md")}
    ran = {page.values[0] for page in PAGES}
    # The list of them, and one that needs a cluster, which tests/cluster/ starts.
    assert guides - ran == {"docs/guides/index.md", "docs/guides/many_machines.md"}
    assert ran >= FAST


# The page's own process, and no name that its blocks could take for theirs.
NO_DEADLINES = f"""
import sys
sys.path.insert(0, {str(ROOT / "tests")!r})
import patience
patience.remove_deadlines()
del sys.path[0], sys, patience
"""


@unix
@pytest.mark.parametrize("page", PAGES)
def test_code_blocks_of_the_pages_run_and_print_what_they_say(page):
    text = (ROOT / page).read_text()
    expected, printed = blocks.expected(text), blocks.outputs(text, NO_DEADLINES)
    assert any(expected)
    assert len(printed) == len(expected)
    if not VECTORS.fused:
        pytest.skip(
            "The page runs. Its models were trained by fused multiply-adds; without them a "
            "long training is rounded so differently that simplify leaves other rules."
        )
    for one, other in zip(expected, printed, strict=True):
        assert blocks.differences(one, other, blocks.TRAINED) == []


@pytest.mark.parametrize("page", ["README.md", "docs/shipping.md", "docs/start.md"])
def test_what_a_page_says_about_installing_works_in_a_clone(page):
    """The package is not published: its name alone finds nothing."""
    shell = "\n".join(re.findall(r"(?ms)^```sh\n(.*?)^```", (ROOT / page).read_text()))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    installs = re.findall(r"pip install (.*)", shell)
    assert installs
    for what in installs:
        extras = re.fullmatch(r'"\.\[(.*)\]"', what)[1].split(",")
        assert set(extras) <= set(project["optional-dependencies"])
    targets = re.findall(r"^make (\w+)", shell, re.MULTILINE)
    makefile = (ROOT / "Makefile").read_text()
    assert all(re.search(rf"^{target}:", makefile, re.MULTILINE) for target in targets)
    assert targets[:2] == (["demo", "test"] if page == "README.md" else [])
