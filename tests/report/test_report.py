"""The report as a file: what it says, what it escapes, and when it is not written."""

import base64
import hashlib
import json
import os
import re
import stat
import sys
from html.parser import HTMLParser
from importlib.resources import files

import numpy as np
import pandas as pd
import pytest
from platforms import unix
from sklearn.exceptions import NotFittedError

from neuralrules import NeuralRuleClassifier, NeuralRuleClassifierCV, NeuralRuleRegressor
from neuralrules._charts._chart import Chart, Line, number_axis, tight_axis
from neuralrules._fitted import _fitted as model_module
from neuralrules._report import _page as report_module
from neuralrules._report import _performance_section as performance_module
from neuralrules._report import _sections as data_module
from neuralrules._report._page_model import packed
from neuralrules._report._sections import bar_rows
from neuralrules._report._svg import WIDTH, Frame, shown_ticks, svg, text_width

VOID = {"meta", "input", "br", "wbr", "img", "link", "hr"}
ATTACKS = (
    "<script>alert(1)</script>",
    '"; DROP TABLE',
    "</script><img src=x onerror=alert(1)>",
    "{{7*7}}",
)


class Page(HTMLParser):
    """Elements of a page in order, with their attributes and text."""

    def __init__(self, path):
        super().__init__(convert_charrefs=True)
        self.elements, self._open = [], []
        self.feed(path.read_text("utf-8"))
        assert self._open == []

    def handle_starttag(self, tag, attrs):
        self.elements.append([tag, dict(attrs), ""])
        if tag not in VOID:
            self._open.append(self.elements[-1])

    def handle_startendtag(self, tag, attrs):
        self.elements.append([tag, dict(attrs), ""])

    def handle_endtag(self, tag):
        assert self._open.pop()[0] == tag

    def handle_data(self, data):
        for element in self._open:
            element[2] += data

    def all(self, tag):
        return [element for element in self.elements if element[0] == tag]

    def text(self, id_):
        (found,) = [e for e in self.elements if e[1].get("id") == id_]
        return re.sub(r"\s+", " ", found[2]).strip()

    @property
    def data(self):
        return json.loads(next(e[2] for e in self.all("script") if "type" in e[1]))


@pytest.fixture(scope="module")
def binary():
    rng = np.random.RandomState(0)
    X = rng.randn(200, 4)
    y = X[:, 0] * X[:, 1] > 0
    model = NeuralRuleClassifier.paper(3, random_state=0, n_epochs=5).fit(X[:150], y[:150])
    return model, X[150:], y[150:]


@pytest.fixture(scope="module")
def page(binary, tmp_path_factory):
    model, X, y = binary
    return Page(model.report(tmp_path_factory.mktemp("page") / "binary.html", X, y))


def make(kind, mixed_frame):
    """A model of some kind with rows that it can be measured on."""
    rng = np.random.RandomState(0)
    X = rng.randn(150, 3)
    number, codes = X[:, 0] * X[:, 1], (X[:, 0] > 0).astype(int) + (X[:, 1] > 0.5)
    options = {"random_state": 0, "n_epochs": 2}
    if kind == "mixed":
        X, y = mixed_frame
        model = NeuralRuleClassifier.paper(4, **options)
    elif "number" in kind:
        y = np.stack([number, 5 - X[:, 2]], axis=1) if kind == "numbers" else number
        n_rows = 100 if kind == "constant number" else 1
        deep = kind == "numbers"
        model = NeuralRuleRegressor.paper(3, min_samples_leaf=n_rows, deep=deep, **options)
    elif kind == "cv":
        candidates = [{}, {"max_depth": 2}]
        model = NeuralRuleClassifierCV(candidates, cv=2, n_trees=2, **options)
        y = number > 0
    else:
        y = codes if kind == "three classes" else number > 0
        settings = {
            "deep": {"deep": True},
            "hinge": {"loss": "hinge"},
            "squared": {"loss": "squared"},
            "three classes": {},
            "balanced": {"class_weight": "balanced"},
            "constant": {"min_samples_leaf": 100},
        }[kind]
        model = NeuralRuleClassifier.paper(3, **settings, **options)
    return model.fit(X, y), X, y


KINDS = ["deep", "hinge", "squared", "three classes", "balanced", "cv"]
KINDS += ["number", "numbers", "constant", "constant number", "mixed"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rows", ["none", "X", "X and y"])
def test_every_model_has_a_report(kind, rows, mixed_frame, tmp_path):
    model, X, y = make(kind, mixed_frame)
    given = {"none": (), "X": (X,), "X and y": (X, y)}[rows]
    n_examples = 20 if given else 0
    written = Page(model.report(tmp_path / "report.html", *given, n_examples=n_examples))
    data, table = written.data, model.rules_table(*(given if len(given) == 2 else ()))
    assert [rule["rule"] for rule in data["rules"]] == table.index.tolist()
    assert [rule["text"] for rule in data["rules"]] == table["text"].tolist()
    place = data["keys"].index("overlap")
    assert [rule["cells"][place] for rule in data["rules"]] == table["overlap"].tolist()
    assert len(data["examples"]) == n_examples
    said = written.text("performance")
    n_training = model.fitted_.performance.n_rows
    if rows == "X and y":
        assert f"Measured on the {len(y)} rows given." in said
    else:
        assert f"Optimistic: measured on the {n_training} training rows." in said
    assert ("X was given without y" in said) == (rows == "X")
    assert ("Rows count by their weight." in said) == (kind == "balanced")
    assert ("nothing to calibrate" in said) == (kind in ("hinge", "squared"))
    assert ("Write the report with X to see it." in written.text("importance")) == (not given)
    assert ("Confusion matrix" in said) == hasattr(model, "classes_")


def test_the_numbers_are_the_models(binary, page):
    model, X, y = binary
    assert f"{model.score(X, y):.4f}".rstrip("0") in page.text("performance")
    n_right = int((model.predict(X) == y)[y].sum())
    assert f"True {y.sum()} rows" in page.text("performance")
    assert f"{n_right} {100 * n_right / y.sum():.1f} %" in page.text("performance")
    weights = np.frombuffer(base64.b64decode(page.data["model"]["weights"]), "<f4")
    used = model.network_.without_unused_features().weights
    np.testing.assert_array_equal(weights, used.ravel())


def test_it_loads_nothing(page):
    """No address anywhere but anchors, and a policy that knows only its own script."""
    for tag, attributes, _ in page.elements:
        assert not {"src", "srcset", "background", "action", "style"} & set(attributes), tag
        assert attributes.get("href", "#").startswith("#")
        assert not [name for name in attributes if name.startswith("on")]
    assert page.all("link") == page.all("img") == page.all("iframe") == []
    (style,) = page.all("style")
    assert "url(" not in style[2]
    assert "@import" not in style[2]
    script = next(e[2] for e in page.all("script") if "type" not in e[1])
    assert re.findall(r"https?:[^\"]*", script) == ["http://www.w3.org/2000/svg"]  # a name
    assert "innerHTML" not in script
    policy = next(e[1]["content"] for e in page.all("meta") if "http-equiv" in e[1])
    hashes = [
        base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        for text in (style[2], script)
    ]
    assert policy == (
        f"default-src 'none'; style-src 'sha256-{hashes[0]}'; "
        f"script-src 'sha256-{hashes[1]}'; img-src data:; base-uri 'none'; form-action 'none'"
    )


def test_names_are_escaped(tmp_path):
    rng = np.random.RandomState(0)
    frame = pd.DataFrame(rng.randn(200, 3), columns=ATTACKS[:3])
    frame[ATTACKS[3]] = rng.choice(ATTACKS, 200)
    y = np.where((frame[ATTACKS[0]] > 0) ^ (frame[ATTACKS[3]] == ATTACKS[2]), *ATTACKS[:2])
    model = NeuralRuleClassifier.paper(4, random_state=0, n_epochs=2).fit(frame, y)
    path = model.report(tmp_path / "report.html", frame, y, title=ATTACKS[2])
    written = Page(path)
    assert len(written.all("script")) == 2
    assert written.all("img") == []
    assert written.all("title")[0][2] == ATTACKS[2]
    assert written.all("h1")[0][2] == ATTACKS[2]
    assert written.data["model"]["classes"] == sorted(ATTACKS[:2])
    assert {column["name"] for column in written.data["columns"]} <= set(ATTACKS)
    assert "49" not in written.all("h1")[0][2]
    text = path.read_text("utf-8")
    assert "<img" not in text
    assert "alert(1)</script>" not in text


def test_text_that_is_not_valid_unicode(binary, tmp_path):
    path = binary[0].report(tmp_path / "report.html", title="a\ud800b")
    assert Page(path).all("h1")[0][2] == "a?b"


def test_a_sample_is_called_a_sample(binary, tmp_path, monkeypatch):
    _, X, y = binary
    monkeypatch.setattr(model_module, "READ_ROWS_PER_EPOCH", 20)
    model = NeuralRuleClassifier.paper(2, n_epochs=1, random_state=0).fit(X, y)
    written = Page(model.report(tmp_path / "report.html"))
    assert "on a sample of 20 training rows" in written.text("performance")
    assert "20 or more" in written.all("header")[0][2]
    monkeypatch.setattr(data_module, "IMPORTANCE_ROWS", 10)
    monkeypatch.setattr(performance_module, "SIZE_ROWS", 30)
    written = Page(model.report(tmp_path / "report.html", X, y))
    assert "a random sample of 10 of the rows given" in written.text("importance")
    assert "measured on 30 of them" in written.text("size")


def test_weights_and_single_rows(binary, tmp_path):
    model, X, y = binary
    weights = np.arange(len(y)) % 3 / 2
    written = Page(model.report(tmp_path / "r.html", X, y, sample_weight=weights))
    assert "Rows count by their weight." in written.text("performance")
    table = model.rules_table(X, y, sample_weight=weights)
    assert [rule["rows"] for rule in written.data["rules"]] == table["rows"].tolist()
    written = Page(model.report(tmp_path / "r.html", X[:1], y[:1]))
    assert "X has a single row." in written.text("importance")


def test_a_simplification_adds_its_curve(binary, tmp_path):
    model, X, y = binary
    path = model.simplification_path(X, y, X_val=X, y_val=y)
    written = Page(model.report(tmp_path / "r.html", X, y, simplification=path))
    said = written.text("size")
    assert f"step {path.knee()}, is the smallest model" in said
    dots = [e[2] for e in written.all("circle") if "step" in e[2]]
    assert len(dots) == len(path)
    assert f"{path.steps[-1].network.n_parameters} parameters" in dots[-1]


def test_start_values(mixed_frame, tmp_path):
    frame, y = mixed_frame
    model = NeuralRuleClassifier.paper(5, random_state=0, n_epochs=3).fit(frame, y)
    given = Page(model.report(tmp_path / "a.html", frame, y)).data["columns"]
    start = {column["name"]: column["start"] for column in given}
    assert start["income"] == frame["income"].dropna().quantile(interpolation="lower")
    alone = Page(model.report(tmp_path / "b.html"))
    start = {column["name"]: column["start"] for column in alone.data["columns"]}
    deviation = frame["income"].std()
    assert abs(start["income"] - frame["income"].mean()) < 0.01 * deviation
    city = next(e for e in alone.all("option") if e[2] == "missing")
    assert city[1]["value"] == "3"  # after Lima, Oslo, Rome


def test_an_error_leaves_the_old_file(binary, tmp_path, monkeypatch):
    model, X, y = binary
    path = tmp_path / "report.html"
    path.write_text("old")

    def fail(*_):
        raise OSError("no space left")

    for place, name in (
        (report_module.os, "fsync"),
        (report_module.os, "replace"),
        (report_module, "render"),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(place, name, fail)
            with pytest.raises(OSError, match="no space left"):
                model.report(path, X, y)
        assert path.read_text() == "old"
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.report(path, X, y[1:])
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["report.html"]
    assert model.report(str(path)) == path
    assert path.read_text("utf-8").startswith("<!DOCTYPE html>")
    assert os.listdir(tmp_path) == ["report.html"]


def test_jinja2_is_asked_for(binary, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    message = (
        "report fills templates with jinja2, and jinja2 is not installed. "
        'Install it with: pip install "neuralrules[report]"'
    )
    with pytest.raises(ImportError, match=f"^{re.escape(message)}$"):
        binary[0].report(tmp_path / "report.html")


def refused(error, message, model, *arguments, **options):
    with pytest.raises(error, match=f"^{re.escape(message)}$"):
        model.report(*arguments, **options)


def test_no_row_is_passed_on_unless_asked_for(tmp_path):
    """A page must not carry anyone's data: no cell of X beyond medians and ranges."""
    rng = np.random.RandomState(0)
    X = pd.DataFrame({"salary": np.round(rng.lognormal(10, 1, 300), 2), "id": np.arange(300.0)})
    y = X["salary"] > 25000
    model = NeuralRuleClassifier.paper(2, n_epochs=5, random_state=0).fit(X, y)
    page = model.report(tmp_path / "report.html", X, y).read_text()
    inner = X["salary"].sort_values().iloc[1:-1]
    shown = [value for value in inner if repr(value) in page and value != X["salary"].median()]
    assert len(shown) <= 1  # an even number of rows has two in the middle
    with_rows = model.report(tmp_path / "report.html", X, y, n_examples=20).read_text()
    assert sum(repr(value) in with_rows for value in inner) >= 15


@unix
def test_paths_that_cannot_be_written(binary, tmp_path, monkeypatch):
    """Refused before any work, in words about the path that was given."""
    model = binary[0]
    monkeypatch.setattr(report_module, "report_data", None)  # which would be the work
    refused(
        ValueError,
        "path='' is empty. Give the name of a file, for example 'report.html'.",
        model,
        "",
    )
    refused(
        ValueError,
        "path='a\\x00b' holds a NUL character, as no file's name can. Give another path.",
        model,
        "a\0b",
    )
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (str(pipe), "/dev/null"):
        refused(
            FileExistsError,
            f"path='{path}' is not a regular file but a device, a pipe or a socket, which "
            "must not be replaced. Give another path.",
            model,
            path,
        )
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    circle = tmp_path / "circle.html"
    circle.symlink_to(circle)
    with pytest.raises(OSError, match=r"circle.html' cannot be written: Too many levels"):
        model.report(circle)
    long = tmp_path / ("a" * 300)
    with pytest.raises(OSError, match=r"^path='.*a' cannot be written: File name too long"):
        model.report(long)

    def closed(*_):
        raise PermissionError(13, "Permission denied", "the temporary file")

    with monkeypatch.context() as patch:
        patch.setattr(report_module.Path, "open", closed)
        refused(
            PermissionError,
            f"path='{tmp_path}/r.html' cannot be written: Permission denied. "
            "Give another path.",
            model,
            tmp_path / "r.html",
        )
    old = tmp_path / "old.html"
    old.write_text("old")
    with monkeypatch.context() as patch:  # root may write everything
        patch.setattr(report_module.os, "access", lambda *_: False)
        refused(
            PermissionError,
            f"path='{old}' is read-only. Make the file writable, or give another path.",
            model,
            old,
        )
    assert old.read_text() == "old"
    assert sorted(os.listdir(tmp_path)) == ["circle.html", "old.html", "pipe"]


@unix
def test_links_and_modes_stay(binary, tmp_path, monkeypatch):
    model = binary[0]
    (tmp_path / "there").mkdir()
    file, link = tmp_path / "there" / "file.html", tmp_path / "link.html"
    link.symlink_to("there/file.html")
    assert model.report(link) == link  # to a file that is not there yet
    assert link.is_symlink()
    file.write_text("old")
    file.chmod(0o640)
    model.report(link)
    assert link.is_symlink()
    assert file.read_text("utf-8").startswith("<!DOCTYPE html>")
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert os.listdir(tmp_path / "there") == ["file.html"]
    monkeypatch.setenv("HOME", str(tmp_path))
    assert model.report("~/home.html") == tmp_path / "home.html"
    assert (tmp_path / "home.html").is_file()


def test_a_simplification_must_be_of_the_same_kind(binary, tmp_path):
    model, X, y = binary
    path = model.simplification_path(X, y, X_val=X, y_val=y)
    path.model(len(path) - 1).report(tmp_path / "r.html", X, y, simplification=path)
    (tmp_path / "r.html").unlink()
    options = {"random_state": 0, "n_epochs": 1}
    number = X[:, 0] * X[:, 1]
    others = {
        "other columns": NeuralRuleClassifier.paper(2, **options).fit(X[:, :3], y),
        "another task": NeuralRuleRegressor.paper(2, **options).fit(X, number),
        "other classes": NeuralRuleClassifier.paper(2, **options).fit(
            X, np.where(y, "yes", "no")
        ),
    }
    for differs, other in others.items():
        refused(
            ValueError,
            f"simplification={path!r} began with a model of {differs}. Give that of this "
            "model, model.simplification_path(X, y), or None.",
            other,
            tmp_path / "r.html",
            simplification=path,
        )
    both = np.stack([number, X[:, 2]], axis=1)
    single = NeuralRuleRegressor.paper(2, **options).fit(X, number)
    path = single.simplification_path(X, number, X_val=X, y_val=number)
    two = NeuralRuleRegressor.paper(2, **options).fit(X, both)
    with pytest.raises(ValueError, match="began with a model of another number of targets"):
        two.report(tmp_path / "r.html", simplification=path)
    assert os.listdir(tmp_path) == []


def test_inputs_hold_large_numbers_without_a_fraction(tmp_path):
    times = 1.6e15 + 86_400_000_000 * np.arange(100.0)
    X = np.stack([times, np.arange(100) % 7], axis=1)
    model = NeuralRuleClassifier.paper(2, n_epochs=2, random_state=0).fit(X, times > times[50])
    written = Page(model.report(tmp_path / "r.html", X, times > times[50]))
    boxes = {e[1]["id"]: e[1] for e in written.all("input") if "input-" in e[1]["id"]}
    hints = {e[1]["id"]: e for e in written.all("small") if "hint-" in e[1].get("id", "")}
    place = [column["name"] for column in written.data["columns"]].index("x0")
    assert boxes[f"input-{place}"]["value"] == "1604233600000000"
    hint = hints[f"hint-{place}"]
    assert hint[2] == "1.6e+15 to 1.60855e+15"
    assert hint[1]["title"] == "1600000000000000 to 1608553600000000"


def test_errors_say_what_to_do(binary, tmp_path):
    model, X, y = binary
    refused(
        IsADirectoryError,
        f"path='{tmp_path}' is a folder. Give the name of a file in it, for example "
        f"'{tmp_path}/report.html'.",
        model,
        str(tmp_path),
    )
    refused(
        FileNotFoundError,
        f"path='{tmp_path}/no/report.html' cannot be written: there is no folder "
        f"'{tmp_path}/no'. Create it first, or give another path.",
        model,
        tmp_path / "no" / "report.html",
    )
    refused(
        TypeError,
        "path=3 must be the name of a file, for example 'report.html'.",
        model,
        3,
    )
    path = tmp_path / "report.html"
    refused(
        ValueError,
        "y was given without X: the report cannot measure without the rows. Give X too, or "
        "neither for the training rows.",
        model,
        path,
        y=y,
    )
    refused(
        ValueError,
        "sample_weight was given without X and y: there are no rows to weight. Give all "
        "three, or no sample_weight.",
        model,
        path,
        X,
        sample_weight=np.ones(len(y)),
    )
    refused(
        ValueError,
        "n_examples=5 was given without X: there are no rows to show. Give X too, or "
        "n_examples=0.",
        model,
        path,
        n_examples=5,
    )
    refused(
        ValueError,
        "n_examples=-1 must be a whole number of at least 0.",
        model,
        path,
        n_examples=-1,
    )
    refused(TypeError, "title=7 must be a string or None.", model, path, title=7)
    refused(
        TypeError,
        "simplification=7 must be a SimplificationPath, as of model.simplification_path(X, y), "
        "or None.",
        model,
        path,
        simplification=7,
    )
    with pytest.raises(NotFittedError):
        NeuralRuleClassifier().report(path)
    with pytest.raises(ValueError, match="X has 3 features, but NeuralRuleClassifier is"):
        model.report(path, X[:, :3], y)
    assert not path.exists()


def test_weights_are_packed_as_float32():
    assert np.frombuffer(base64.b64decode(packed(np.array([1.5, -2]))), "<f4").tolist() == [
        1.5,
        -2,
    ]


@pytest.mark.parametrize("size", [1, 1e3, 123456789, 1e12, -3e-12])
def test_charts_keep_inside_their_frame(size):
    rng = np.random.RandomState(0)
    x, y = np.arange(20) * size, rng.randn(20) * size
    line = Line(x, y, [""] * 20, y - abs(size), y + abs(size))
    for diagonal in (False, True):
        ends = min(x[0], x[-1]), max(x[0], x[-1])
        whole = tight_axis("x", *ends, whole=True)  # as numbers of rules
        across = number_axis("x", x) if diagonal else whole
        frame = Frame(Chart("t", across, number_axis("y", y), [line], diagonal=diagonal))
        xs, ys, lows, highs = (
            frame.across(x),
            *map(frame.up, (y, line.low, line.high)),
        )
        assert ((frame.left <= xs) & (xs <= frame.right)).all()
        assert ((frame.top <= ys) & (ys <= frame.bottom)).all()
        assert ((frame.top <= highs) & (highs <= lows) & (lows <= frame.bottom)).all()
        shown = shown_ticks(frame.chart, frame)
        places, widths = (
            [tick.at for tick in shown],
            [text_width(tick.text) for tick in shown],
        )
        assert (np.diff(places) > np.add(widths[1:], widths[:-1]) / 2).all()
        assert len(places) >= (2 if diagonal else 1)
        assert places[0] >= widths[0] / 2
        assert places[-1] + widths[-1] / 2 <= WIDTH
        assert frame.left - 7 >= max(map(text_width, frame.chart.y.texts))


def test_texts_of_charts_are_escaped():
    axis = tight_axis("<b>", 0, 1)
    numbers = np.arange(2.0)
    drawn = svg(Chart('"&', axis, axis, [Line(numbers, numbers, ["<script>", "a & b"])]))
    assert "<b>" not in drawn
    assert "<script>" not in drawn
    assert 'aria-label="&quot;&amp;"' in drawn
    assert "<title>a &amp; b</title>" in drawn


def test_bars_are_shares_of_the_longest():
    low, high = np.array([1.0, 0.5]), np.array([4.0, 1.5])
    drawn = bar_rows(["a", "b"], np.array([2.0, 1.0]), low, high)
    assert [(bar["length"], bar["start"], bar["end"]) for bar in drawn] == [
        (50, 25, 100),
        (25, 12.5, 37.5),
    ]
    assert bar_rows(["a"], np.zeros(1))[0]["length"] == 0


def test_the_templates_are_package_data():
    names = {file.name for file in files("neuralrules._report").joinpath("templates").iterdir()}
    assert {"report.html", "report.css", "charts.html"} <= names
    scripts = {f"{name}.js" for name in report_module.SCRIPTS}
    assert scripts == {name for name in names if name.endswith(".js")}
