"""What goes wrong, in words: foreseen problems have their sentence, others get one, and the app goes on."""

from __future__ import annotations

import logging
import traceback
from pathlib import Path
from typing import TYPE_CHECKING

from textual.message import Message
from textual.message_pump import MessagePump

if TYPE_CHECKING:
    _Pump = MessagePump
else:
    _Pump = object

log = logging.getLogger(__name__)


def told(error: BaseException, log_file: Path) -> str:
    """An ERROR that nobody foresaw as a sentence for the screen; where it was raised goes to the log.

    Its message does not: it may quote what was said.
    """
    log.error("%s raised\n%s", type(error).__name__, "".join(traceback.format_tb(error.__traceback__)))
    return f"Something went wrong here ({type(error).__name__}). What was said is kept. Where it happened stands in {log_file}."


def foreseen(error: BaseException) -> str | None:
    """The sentence of a problem that was foreseen, None for any other."""
    sentence = getattr(error, "sentence", None)
    if isinstance(sentence, str):
        return sentence
    from hermes_tui.config import ConfigError
    from hermes_tui.context.budgets import ImpossibleBudget
    from hermes_tui.context.registry import UnknownEngine
    from hermes_tui.llm.choose import NoProvider
    from hermes_tui.llm.keys import KeyNotSaved

    if isinstance(error, ConfigError | ImpossibleBudget | UnknownEngine | NoProvider | KeyNotSaved):
        return str(error)
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}." if error.filename else f"{error.strerror}."
    return None


class Steadfast(_Pump):
    """A widget, screen or app whose message loop outlives an error in one of its handlers.

    Textual ends the loop of whatever raised, which would leave a composer that no longer takes keys.
    """

    async def _dispatch_message(self, message: Message) -> None:
        try:
            await super()._dispatch_message(message)
        except Exception as error:
            self.app._handle_exception(error)
