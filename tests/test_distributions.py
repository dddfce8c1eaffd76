"""The wheel and the source archive: what is in them, and what they say of themselves."""

import os
import re
import runpy
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import venv
import zipfile
from email.parser import HeaderParser
from pathlib import Path

import pytest
from clean_install import lowest
from packaging.requirements import Requirement

import neuralrules

ROOT = Path(__file__).resolve().parents[1]
USER = ROOT / "tests" / "typing_project"  # a small project that uses the package
NAME = f"neuralrules-{neuralrules.__version__}"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]
LARGE = {"gpu", "ray"}  # torch and Ray have gigabytes, and few need them
MADE_WHILE_WORKING = re.compile(
    r"(^|/)(__pycache__|\.\w*_cache|\.venv|\.hypothesis)/"
    r"|^docs/(_build|api|gallery|tutorials)/|^benchmarks/(data|records)/|\.(pyc|nbi|nbc|lock)$"
)


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The folder of both; the wheel is made of the source archive, not of the clone."""
    folder = tmp_path_factory.mktemp("dist")
    command = [
        sys.executable,
        "-m",
        "build",
        "--no-isolation",
        "--outdir",
        str(folder),
        str(ROOT),
    ]
    subprocess.run(command, check=True, capture_output=True)
    return folder


@pytest.fixture(scope="module")
def wheel(built):
    with zipfile.ZipFile(built / f"{NAME}-py3-none-any.whl") as archive:
        yield archive


@pytest.fixture(scope="module")
def metadata(wheel):
    return HeaderParser().parsestr(wheel.read(f"{NAME}.dist-info/METADATA").decode())


def test_the_wheel_holds_the_package_and_nothing_else(wheel):
    package = ROOT / "src" / "neuralrules"
    sources = [path for path in package.rglob("*") if path.is_file()]
    parts = {
        path.relative_to(package.parent).as_posix()
        for path in sources
        if path.suffix in {".py", ".typed", ".html", ".css", ".js"}
    }
    assert {"neuralrules/py.typed", "neuralrules/_report/templates/report.html"} <= parts
    about = ("METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE")
    assert set(wheel.namelist()) == parts | {f"{NAME}.dist-info/{name}" for name in about}


def test_the_source_archive_has_what_its_tests_and_pages_need(built):
    with tarfile.open(built / f"{NAME}.tar.gz") as archive:
        names = {name.removeprefix(f"{NAME}/") for name in archive.getnames()}
    top = "CHANGELOG.md CITATION.cff CODE_OF_CONDUCT.md CONTRIBUTING.md LICENSE README.md"
    assert {*top.split(), "SECURITY.md", "Makefile", "pyproject.toml", "PKG-INFO"} <= names
    parts = "tests/conftest.py docs/files.md examples/penguins.csv benchmarks/blocks.py"
    assert {*parts.split(), "src/neuralrules/py.typed", ".github/workflows/ci.yml"} <= names
    assert [name for name in names if MADE_WHILE_WORKING.search(name)] == []
    assert (built / f"{NAME}.tar.gz").stat().st_size < 10_000_000


def test_the_package_says_what_it_runs_on(metadata):
    versions = re.findall(
        r"Python :: (3\.\d+)\n", "\n".join(metadata.get_all("Classifier")) + "\n"
    )
    assert metadata["Version"] == neuralrules.__version__
    assert metadata["Requires-Python"] == f">={versions[0]}"
    assert versions == ["3.11", "3.12", "3.13", "3.14"]
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text()
    (tested,) = re.findall(r"python: \[(.*)\]", workflow)
    assert re.findall(r'"(.*?)"', tested) == versions


def test_all_is_every_extra_but_those_of_gigabytes(metadata):
    (everything,) = map(Requirement, EXTRAS["all"])
    assert everything.name == "neuralrules"
    assert everything.extras == set(EXTRAS) - {"all", *LARGE}
    assert set(metadata.get_all("Provides-Extra")) == set(EXTRAS)


def test_the_lowest_versions_that_are_tried_are_those_declared():
    declared = [Requirement(one) for one in PROJECT["dependencies"]]
    for extra in set(EXTRAS) - {"all", *LARGE}:
        declared += [Requirement(one) for one in EXTRAS[extra]]
    bounds = {}
    for requirement in declared:
        (specifier,) = requirement.specifier
        assert specifier.operator == ">=", requirement
        assert bounds.setdefault(requirement.name, specifier.version) == specifier.version
    tried = [Requirement(one) for one in lowest()]
    assert {one.name: str(one.specifier) for one in tried} == {
        name: f"=={version}" for name, version in bounds.items()
    }


def test_every_extra_that_a_message_names_exists():
    # Messages name extras as "neuralrules[cli]", and calls as import_extra("jinja2", "report").
    pattern = r'neuralrules\[([^\]{\n]*)\]|import_extra\("\w+", "([^"]*)"'
    named = [
        (path.name, extra)
        for path in sorted((ROOT / "src").rglob("*.py"))
        for found in re.findall(pattern, path.read_text("utf-8"))
        for extra in "".join(found).split(",")
    ]
    assert len(named) >= 9
    assert [(path, extra) for path, extra in named if extra not in EXTRAS] == []


@pytest.fixture(scope="module")
def python_of_a_user(wheel, tmp_path_factory):
    """An environment that has the wheel as pip installs it, and what it needs from here."""
    folder = tmp_path_factory.mktemp("user")
    venv.create(folder, symlinks=os.name != "nt")
    within = {"base": str(folder), "platbase": str(folder)}
    packages = Path(sysconfig.get_path("purelib", "venv", within))
    wheel.extractall(packages)
    here = [path for path in sys.path if Path(path).name == "site-packages"]
    (packages / "from_here.pth").write_text("\n".join(here))
    return Path(sysconfig.get_path("scripts", "venv", within)) / "python"


@pytest.mark.slow
def test_a_users_type_checker_sees_mistakes_and_nothing_else(python_of_a_user, tmp_path):
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--no-error-summary"]
    where = ["--cache-dir", tmp_path, "--python-executable", python_of_a_user]
    checked = subprocess.run(
        [*command, "--hide-error-context", *where, "right.py", "wrong.py"],
        capture_output=True,
        text=True,
        check=False,
        cwd=USER,
    )
    reported = re.findall(r"(?m)^(\w+\.py):(\d+): error: .* (\[[\w-]+\])$", checked.stdout)
    lines = (USER / "wrong.py").read_text().splitlines()
    marked = [
        ("wrong.py", str(number), line.partition("  # ")[2])
        for number, line in enumerate(lines, 1)
        if "  # [" in line
    ]
    assert len(marked) > 20
    assert reported == marked, checked.stdout + checked.stderr


@pytest.mark.slow
def test_what_the_type_checker_takes_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(USER / "right.py"))
    assert (tmp_path / "card.html").is_file()
