"""Links to other libraries' pages without a network.

Sphinx usually fetches the list of all names that a library documents. A build must not
depend on that, and we name few of them: `docs/inventories.txt` has these. Each block begins
with a name and the address of its site; each line then says what a name is and where.
"""

from __future__ import annotations

import zlib
from pathlib import Path

HEADER = "# Sphinx inventory version 2\n# Project: {name}\n# Version:\n# zlib\n"


def write_inventories(source: Path, folder: Path) -> dict[str, tuple[str, str]]:
    """Write an inventory for each block of a text file; what intersphinx has to know."""
    folder.mkdir(parents=True, exist_ok=True)
    mapping = {}
    for block in source.read_text().strip().split("\n\n"):
        first, *entries = (line for line in block.splitlines() if not line.startswith("#"))
        name, site = first.split()
        lines = (entry_line(*entry.split()) for entry in entries)
        header = HEADER.format(name=name).encode()
        path = folder / f"{name}.inv"
        path.write_bytes(header + zlib.compress("".join(lines).encode()))
        mapping[name] = (site, str(path))
    return mapping


def entry_line(kind: str, name: str, page: str) -> str:
    """One line of an inventory: name, kind, priority, page, and the name as it is shown."""
    return f"{name} {kind} 1 {page} -\n"
