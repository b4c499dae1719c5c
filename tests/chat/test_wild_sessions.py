"""Anything, in any order, in two places at once: nothing sent is refused, nothing is lost, every request renders again."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.chat.wild import wild


@pytest.mark.parametrize("seed", [3, 8, 12])
def test_a_wild_session_keeps_the_law(tmp_path: Path, seed: int) -> None:
    asyncio.run(wild(tmp_path, seed, 12))
