"""The newest branch of a recording that was rewound: its records form a tree, by the id of the one before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Node:
    """One record's place: its id and that of the one it follows (None where the file does not say)."""

    id: str | None
    parent: str | None


def newest_branch(nodes: Sequence[Node], tip: int) -> set[int]:
    """Indices of the records that led to the one at TIP, itself among them.

    A record that names no parent, or one that is not in the file, follows the record before it.
    """
    by_id: dict[str, int] = {}
    for n, node in enumerate(nodes):
        if node.id is not None:
            by_id.setdefault(node.id, n)
    path: set[int] = set()
    at = tip
    while at >= 0 and at not in path:
        path.add(at)
        parent = nodes[at].parent
        at = by_id.get(parent, at - 1) if parent is not None else at - 1
    return path
