"""Where things live: the data folder, the database, the config file, themes, the log.

Only the standard library is imported here before the first frame; platformdirs comes in the function that needs it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

APP: Final = "hermes-tui"
DATA_DIR_VARIABLE: Final = "HERMES_TUI_DATA_DIR"
CONFIG_VARIABLE: Final = "HERMES_TUI_CONFIG"


@dataclass(frozen=True, slots=True)
class Paths:
    """The files of one installation, none of them created yet.

    Attributes:
        data: the data folder.
        config: the config file; it need not exist.
    """

    data: Path
    config: Path

    @property
    def database(self) -> Path:
        """The one database."""
        return self.data / "hermes.db"

    @property
    def log(self) -> Path:
        """The log file."""
        return self.data / "hermes.log"

    @property
    def themes(self) -> Path:
        """The user's own themes, beside the config file."""
        return self.config.parent / "themes"

    @property
    def key_file(self) -> Path:
        """Keys, for machines without a keyring; always 0600."""
        return self.data / "keys.toml"


def find_paths(
    data_dir: str | os.PathLike[str] | None = None,
    config: str | os.PathLike[str] | None = None,
    environment: Mapping[str, str] | None = None,
) -> Paths:
    """The paths in force: what the command line says, else the environment, else the platform's own folders.

    A data folder that was chosen (DATA_DIR or HERMES_TUI_DATA_DIR) holds the config file and the themes too, unless the
    config file is named as well: one folder is then all there is, which is what a second installation or a test wants.
    """
    env = os.environ if environment is None else environment
    chosen = data_dir or env.get(DATA_DIR_VARIABLE)
    named = config or env.get(CONFIG_VARIABLE)
    if chosen:
        data = Path(chosen).expanduser().absolute()
        config_folder = data
    else:
        import platformdirs

        data = platformdirs.user_data_path(APP, appauthor=False)
        config_folder = platformdirs.user_config_path(APP, appauthor=False)
    return Paths(data, Path(named).expanduser().absolute() if named else config_folder / "config.toml")


def built_in_theme_folders() -> tuple[Path, ...]:
    """Where the built-in themes may be, in order: in the installed package, then beside it (a checkout)."""
    package = Path(__file__).resolve().parent
    return tuple(folder for folder in (package / "themes", package.parent / "themes") if folder.is_dir())


def make_private_folder(folder: Path) -> None:
    """Create FOLDER for this user alone; an existing one is left as it is.

    Raises:
        OSError: where it cannot be made.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
