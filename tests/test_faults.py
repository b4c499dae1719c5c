"""The table of faults that must not come back names every one of them, and only tests that exist."""

from __future__ import annotations

import ast
import re
from pathlib import Path

TESTS = Path(__file__).parent
TABLE = (TESTS / "FAULTS.md").read_text(encoding="utf-8")


def names_in(path: Path) -> set[str]:
    """The tests of a file, those of classes as CLASS::TEST."""
    found: set[str] = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            found.add(node.name)
        elif isinstance(node, ast.ClassDef):
            inner = (n.name for n in node.body if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef))
            found |= {f"{node.name}::{name}" for name in inner}
    return found


def test_every_row_of_the_list_stands_in_the_table_with_its_kind_and_its_tests() -> None:
    (listed,) = re.findall(r"^Rows: (.+)$", TABLE, re.MULTILINE)
    wanted = [f"{part.split()[0]}{number}" for part in listed.split(" · ") for number in re.findall(r"\d+", part)]
    rows = re.findall(r"^\| ([A-K]\d+) \| ([^|]+) \| ([^|]+) \|$", TABLE, re.MULTILINE)
    assert [name for name, _, _ in rows] == wanted
    assert len(wanted) == len(set(wanted)) > 80
    assert {name[0] for name in wanted} == set("ABCDEFGHIJK")
    assert all("`" in tests for _, _, tests in rows)


def test_every_test_that_the_table_names_exists() -> None:
    known: dict[str, set[str]] = {}
    for path, name in re.findall(r"`([\w/]+\.py)::([\w:]+)`", TABLE):
        if path not in known:
            known[path] = names_in(TESTS / path)
        assert name in known[path], f"{path} has no {name}"
    assert len(known) > 20


def test_every_law_has_a_test_that_names_it() -> None:
    named: set[int] = set()
    for path in TESTS.rglob("test_*.py"):
        text = path.read_text(encoding="utf-8")
        if "mark.invariant" in text:
            for numbers in re.findall(r'"""Invariants? ([\d, \-and]+)', text):
                for first, last in re.findall(r"(\d+)(?:-(\d+))?", numbers):
                    named |= set(range(int(first), int(last or first) + 1))
    assert named >= set(range(1, 36)), set(range(1, 36)) - named
