"""The desk."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hermes_tui.tui.app import HermesApp


class Desk:
    """What is open on the desk."""

    def __init__(self, app: HermesApp, *, resume: str | None, continue_last: bool, replay: Any) -> None:
        self.app = app
        self._later: list[tuple[str, str]] = []

    def tell_later(self, sentence: str, severity: str = "information") -> None:
        """x"""
        self._later.append((sentence, severity))

    def tell(self, sentence: str, severity: str = "information") -> None:
        """x"""
        self.app.notify(sentence, markup=False)

    def send(self, text: str) -> None:
        """x"""

    def stop(self) -> bool:
        """x"""
        return False

    def remember(self, section: str, key: str, value: object) -> None:
        """x"""

    async def open(self) -> None:
        """x"""

    async def close(self) -> None:
        """x"""
