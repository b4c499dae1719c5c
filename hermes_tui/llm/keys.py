"""Keys: looked up in the environment, the keyring, a private file, in this order; never in the config, never in the log."""

from __future__ import annotations

import logging
import os
import threading
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from hermes_tui.paths import make_private_folder

SERVICE: Final = "hermes-tui"
"""The keyring's service name; the account is the server's address."""
KEYRING_SECONDS: Final = 3.0
"""A keyring that waits for a desktop which is not there would otherwise hold the start for minutes."""
ANTHROPIC_ACCOUNT: Final = "https://api.anthropic.com"

log = logging.getLogger("hermes_tui.llm")


class KeyNotSaved(Exception):
    """A key could be put neither into the keyring nor into the file; the message is one sentence."""


@dataclass(frozen=True, slots=True)
class Key:
    """A key and where it was found. Its repr does not show it."""

    value: str
    source: str

    def __repr__(self) -> str:
        return f"Key(source={self.source!r})"


class Keys:
    """Looks keys up. Slow (up to 3 s at the keyring): call it off the UI loop.

    Args:
        file: the private file used where there is no keyring.
        environment: os.environ unless given.
        use_keyring: False leaves the keyring alone.
    """

    def __init__(
        self, file: Path | None = None, environment: Mapping[str, str] | None = None, *, use_keyring: bool = True
    ) -> None:
        self.file = file
        self.environment = os.environ if environment is None else environment
        self.use_keyring = use_keyring

    def find(self, server: str = ANTHROPIC_ACCOUNT) -> Key | None:
        """The key for SERVER.

        ANTHROPIC_API_KEY is for Anthropic (and for the server that ANTHROPIC_BASE_URL names beside it), HERMES_TUI_API_KEY
        for whatever server is set up: a key never goes to a server that it was not meant for.
        """
        server = server.rstrip("/")
        meant = {ANTHROPIC_ACCOUNT, self.environment.get("ANTHROPIC_BASE_URL", "").rstrip("/").removesuffix("/v1")}
        for name in ("HERMES_TUI_API_KEY", *(("ANTHROPIC_API_KEY",) if server in meant else ())):
            value = self.environment.get(name, "").strip()
            if value:
                return Key(value, name)
        value = self._from_keyring(server)
        if value:
            return Key(value, "keyring")
        value = self._from_file().get(server, "")
        return Key(value, str(self.file)) if value else None

    def save(self, value: str, server: str = ANTHROPIC_ACCOUNT) -> str:
        """Keep VALUE for SERVER in the keyring, else in the private file; returns where, in a few words.

        Raises:
            KeyNotSaved: neither works.
        """
        server = server.rstrip("/")
        if self.use_keyring and _in_time(lambda: _set_in_keyring(server, value)):
            return "keyring"
        if self.file is None:
            raise KeyNotSaved("There is no keyring, and no folder for a key file.")
        import tomlkit

        table = {**self._from_file(), server: value}
        try:
            make_private_folder(self.file.parent)
            temporary = self.file.with_name(self.file.name + ".new")
            temporary.unlink(missing_ok=True)
            handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(handle, "w", encoding="utf-8") as out:
                out.write(tomlkit.dumps(table))
            os.replace(temporary, self.file)
        except OSError as error:
            raise KeyNotSaved(f"The key could not be kept in {self.file}: {error.strerror or error}.") from None
        return str(self.file)

    def _from_keyring(self, server: str) -> str:
        if not self.use_keyring:
            return ""
        return _in_time(lambda: _get_from_keyring(server)) or ""

    def _from_file(self) -> dict[str, str]:
        if self.file is None:
            return {}
        try:
            with self.file.open("rb") as file:
                table = tomllib.load(file)
        except FileNotFoundError:
            return {}
        except (OSError, ValueError):
            log.warning("the key file cannot be read")
            return {}
        return {str(k): v for k, v in table.items() if isinstance(v, str)}


def _get_from_keyring(server: str) -> str:
    import keyring

    return keyring.get_password(SERVICE, server) or ""


def _set_in_keyring(server: str, value: str) -> bool:
    import keyring

    keyring.set_password(SERVICE, server, value)
    return keyring.get_password(SERVICE, server) == value


def _in_time(ask: Callable[[], Any]) -> Any:
    """What ASK returns; None if it fails or takes longer than KEYRING_SECONDS (it is left behind in its daemon thread)."""
    answer: list[Any] = []

    def work() -> None:
        try:
            answer.append(ask())
        except Exception as error:  # keyring backends raise whatever they like
            log.info("no keyring: %s", type(error).__name__)

    thread = threading.Thread(target=work, name="keyring", daemon=True)
    thread.start()
    thread.join(KEYRING_SECONDS)
    return answer[0] if answer else None
