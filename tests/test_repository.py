"""What a public host of the repository reads: workflows, forms, citation, notes."""

import ast
import re
from pathlib import Path

import pytest
from check_jsonschema import main as check_jsonschema
from click.testing import CliRunner
from platforms import ONLY_UNIX

import neuralrules

ROOT = Path(__file__).resolve().parents[1]
GITHUB = ROOT / ".github"
FORMS = sorted(path for path in (GITHUB / "ISSUE_TEMPLATE").glob("*.yml"))
SCHEMAS = {
    "github-workflows": sorted((GITHUB / "workflows").glob("*.yml")),
    "github-issue-forms": [path for path in FORMS if path.stem != "config"],
    "github-issue-config": [GITHUB / "ISSUE_TEMPLATE" / "config.yml"],
    "dependabot": [GITHUB / "dependabot.yml"],
    "citation-file-format": [ROOT / "CITATION.cff"],
}
# Python modules that Windows does not have.
UNIX = {"fcntl", "grp", "pty", "pwd", "resource", "termios", "tty"}


def checked(schema, *paths):
    """What is wrong with files, by a published schema that check-jsonschema ships."""
    arguments = ["--builtin-schema", f"vendor.{schema}", *map(str, paths)]
    result = CliRunner().invoke(check_jsonschema, arguments)
    return "" if result.exit_code == 0 else result.output


@pytest.mark.parametrize("schema", SCHEMAS)
def test_files_for_the_host_are_valid(schema, tmp_path):
    assert SCHEMAS[schema]
    assert checked(schema, *SCHEMAS[schema]) == ""
    wrong = tmp_path / "wrong.yml"
    wrong.write_text(SCHEMAS[schema][0].read_text("utf-8") + "\nno_such_key: 1\n")
    assert "no_such_key" in checked(schema, wrong)


def test_workflows_call_what_is_there():
    makefile = (ROOT / "Makefile").read_text()
    for path in SCHEMAS["github-workflows"]:
        text = path.read_text()
        for target in re.findall(r"run: make ([\w-]+)", text):
            assert re.search(rf"(?m)^{target}:", makefile), target
        for script in re.findall(r"run: python (\S+\.py)", text):
            assert (ROOT / script).is_file()
        for called in re.findall(r"uses: (\./\S+)", text):
            assert (ROOT / called).is_file()


def test_the_version_has_notes_and_a_place_in_the_changelog_and_the_citation():
    version = neuralrules.__version__
    assert f"\n## {version}\n" in (ROOT / "CHANGELOG.md").read_text()
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text()
    notes = (ROOT / "docs" / "release_notes" / f"{version}.md").read_text()
    assert notes.startswith(f"# neuralrules {version}\n")
    minor = version.rpartition(".")[0]
    assert f"| {minor} | yes |" in (ROOT / "SECURITY.md").read_text()


def imports_of(tree):
    """Modules that are imported whenever the file is, not in functions."""
    for node in tree.body:
        if isinstance(node, ast.Import):
            yield from (name.name.partition(".")[0] for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module.partition(".")[0]


def test_windows_can_import_the_package_and_the_tests():
    tests = ROOT / "tests"
    left_out = [tests / name for name in ONLY_UNIX]
    for path in [*(ROOT / "src").rglob("*.py"), *tests.rglob("*.py")]:
        if not any(path.is_relative_to(other) for other in left_out):
            found = UNIX.intersection(imports_of(ast.parse(path.read_text("utf-8"))))
            assert not found, f"{path}: import it in the test that needs it"
