"""What the first frame needs of the config file, read with tomllib alone: the settings proper load after it, off the loop."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

DEFAULT_THEME: Final = "hermes-dark"
_WORDS: Final = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}


@dataclass(frozen=True, slots=True)
class Appearance:
    """How the app looks before anything else is known. The same names and defaults as the config's section."""

    theme: str = DEFAULT_THEME
    ascii: bool = False
    animations: bool = True


def read_appearance(config: Path | None, environment: Mapping[str, str] | None = None) -> Appearance:
    """The look that CONFIG and HERMES_TUI_APPEARANCE__… ask for.

    Never raises: whatever cannot be read or is of the wrong type keeps its default here, and `load_settings` says so
    in words a moment later.
    """
    env = os.environ if environment is None else environment
    table: Mapping[str, Any] = {}
    if config is not None:
        try:
            with config.open("rb") as file:
                found = tomllib.load(file).get("appearance", {})
            table = found if isinstance(found, Mapping) else {}
        except (OSError, ValueError):
            table = {}
    plain = Appearance()

    def flag(key: str, default: bool) -> bool:
        word = env.get(f"HERMES_TUI_APPEARANCE__{key.upper()}", "").strip().lower()
        if word in _WORDS:
            return _WORDS[word]
        value = table.get(key, default)
        return value if isinstance(value, bool) else default

    theme = env.get("HERMES_TUI_APPEARANCE__THEME") or table.get("theme", plain.theme)
    return Appearance(
        theme=theme if isinstance(theme, str) and theme else plain.theme,
        ascii=flag("ascii", plain.ascii),
        animations=flag("animations", plain.animations),
    )
