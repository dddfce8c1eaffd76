"""The built site as a reader walks it: links, anchors, pictures, and nothing from elsewhere."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import click
import pytest
from public_api import PUBLIC

from neuralrules._cli._app import app

# Pages that Sphinx links to from its own furniture, or not at all.
FURNITURE = {"genindex.html", "search.html"}


class Page(HTMLParser):
    """What a page links to, loads and shows."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.pictures: list[dict[str, str | None]] = []
        self.titles = 0
        self.feed(path.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.anchors |= {given[name] for name in ("id", "name") if given.get(name)}
        self.titles += tag == "h1"
        if tag == "a" and given.get("href"):
            self.links.append(given["href"])
        if tag == "img":
            self.pictures.append(given)
        if tag in ("img", "script", "iframe", "source", "video") and given.get("src"):
            self.loads.append(given["src"])
        if tag == "link" and "stylesheet" in (given.get("rel") or ""):
            self.loads.append(given["href"])

    def target(self, link: str) -> tuple[Path, str] | None:
        """The file and the anchor that a link leads to, unless it leads out of the site."""
        parts = urlsplit(link)
        if parts.scheme or parts.netloc:
            return None
        path = self.path.parent / unquote(parts.path) if parts.path else self.path
        return path.resolve(), unquote(parts.fragment)


@pytest.fixture(scope="session")
def pages(site) -> dict[Path, Page]:
    found = sorted(site.resolve().rglob("*.html"))
    return {path: Page(path) for path in found if "_static" not in path.parts}


def own_pages(pages) -> list[Page]:
    """Those that Sphinx made, not those that models wrote."""
    return [
        page
        for page in pages.values()
        if "_static/documentation_options.js" in "".join(page.loads)
    ]


def test_inner_links_and_anchors_lead_somewhere(pages):
    broken = []
    for page in pages.values():
        for link in [*page.links, *page.loads]:
            target = page.target(link)
            if target is None:
                continue
            path, anchor = target
            known = path in pages and (not anchor or anchor in pages[path].anchors)
            if not known and (path.suffix == ".html" or not path.is_file()):
                broken.append((page.path.name, link))
    assert broken == []


def test_every_page_is_reached_from_the_front_page(site, pages):
    front = site.resolve() / "index.html"
    reached, waiting = {front}, [front]
    while waiting:
        page = pages[waiting.pop()]
        targets = {page.target(link) for link in [*page.links, *page.loads]} - {None}
        new = {path for path, _ in targets if path in pages} - reached
        reached |= new
        waiting.extend(new)
    orphans = {str(path.relative_to(site.resolve())) for path in set(pages) - reached}
    assert orphans <= FURNITURE


def test_every_picture_exists_and_is_described(pages):
    pictures = [(page, one) for page in own_pages(pages) for one in page.pictures]
    assert len({one["src"] for _, one in pictures}) > 15
    for page, one in pictures:
        assert page.target(one["src"])[0].is_file(), (page.path, one)
        beside_its_title = "_thumb" in one["src"]
        # A file's name describes nothing.
        assert beside_its_title or " " in one["alt"], (page.path, one)


def test_pages_load_nothing_from_elsewhere(pages):
    outside = {load for page in pages.values() for load in page.loads if "//" in load}
    assert outside == set()


def test_every_page_has_one_title(pages):
    titles = {page.path.name: page.titles for page in own_pages(pages)}
    assert {name: n for name, n in titles.items() if n != 1} == {}


def test_every_public_name_has_a_place_in_the_reference(site, pages):
    reference = {
        anchor: page
        for page in pages.values()
        if page.path.parent.name == "api"
        for anchor in page.anchors
    }
    assert sorted(set(PUBLIC) - set(reference)) == []
    sources = {
        link.partition("#")[2]
        for page in reference.values()
        for link in page.links
        if "_modules/" in link
    }
    written = {f"{item.__qualname__}" for item in PUBLIC.values()}
    assert sorted(written - sources) == []


def test_every_command_and_option_has_a_place(site, pages):
    """As `--help` has them, because it is made of that."""
    anchors = pages[site.resolve() / "command_line.html"].anchors
    for name, command in app.commands.items():
        assert name in anchors
        for one in command.get_params(click.Context(command)):
            if isinstance(one, click.Option):
                assert f"cmdoption-neuralrules-{name}-{one.opts[0].lstrip('-')}" in anchors


def test_the_search_finds_methods_and_options(site):
    index = (site / "searchindex.js").read_text()
    found = json.loads(index[index.index("{") : index.rindex("}") + 1])
    for word in ("counterfactu", "utilis", "scorecard"):
        assert word in found["terms"], word
    assert "--max-depth" in index
