"""What must be known before the first frame: theme, glyphs, animation. Read with tomllib alone, checked in full afterwards."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hermes_tui.tui.themes import DEFAULT


@dataclass(frozen=True, slots=True)
class Appearance:
    """The settings of section ``appearance``, as far as the first frame needs them."""

    theme: str = DEFAULT
    ascii: bool = False
    animations: bool = True


def read_appearance(config: Path, environment: Mapping[str, str] | None = None) -> Appearance:
    """The appearance that CONFIG and the environment ask for; whatever does not hold is the default here.

    Errors in the file are told by the settings proper, which are loaded after the first frame.
    """
    env = os.environ if environment is None else environment
    try:
        section: Any = tomllib.loads(config.read_text(encoding="utf-8")).get("appearance", {})
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError):
        section = {}
    values: dict[str, Any] = dict(section) if isinstance(section, dict) else {}
    for name in ("theme", "ascii", "animations"):
        given = env.get(f"HERMES_TUI_APPEARANCE__{name.upper()}")
        if given is not None:
            values[name] = given if name == "theme" else given.strip().lower() in ("1", "true", "yes", "on")
    theme = values.get("theme")
    return Appearance(
        theme=theme if isinstance(theme, str) and theme else DEFAULT,
        ascii=values.get("ascii") is True,
        animations=values.get("animations") is not False,
    )
