"""What nobody foresaw: an error becomes one sentence on the screen and a full entry in the log, and the app goes on."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING

from textual.message import Message
from textual.message_pump import MessagePump

if TYPE_CHECKING:
    _Pump = MessagePump
else:
    _Pump = object

log = logging.getLogger(__name__)


def told(error: Exception, log_file: Path) -> str:
    """ERROR as a sentence for the screen; all of it goes to the log."""
    log.error("unexpected error", exc_info=error)
    kind = type(error).__name__
    return f"Something went wrong here ({kind}). Nothing that was said is lost. The details are in {log_file}."


class Steadfast(_Pump):
    """A widget, screen or app whose message loop outlives an error in one of its handlers.

    Textual ends the loop of whatever raised, which would leave a composer that no longer takes keys.
    """

    async def _dispatch_message(self, message: Message) -> None:
        try:
            await super()._dispatch_message(message)
        except Exception as error:
            self.app._handle_exception(error)
