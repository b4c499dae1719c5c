"""Edits by hand from the screen: undo, redo, pin, drop, fork and delete, each answered in place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from hermes_tui.tui.readings import EntryRow

if TYPE_CHECKING:
    from hermes_tui.context.editing import Mark
    from hermes_tui.store.records import ChainRecord
    from hermes_tui.tui.desk import Desk

WATCHED: Final = "A replay is only watched: nothing in it is undone, pinned, dropped, forked or deleted."
PAST: Final = "The past is read-only. t goes to the tip, where this can be done."
FORKED: Final = "This is a fork: it goes on from here by itself. The conversation it came from stays as it is; F3 shows both."


def mark_for(row: EntryRow, key: Literal["pin", "drop"]) -> Mark:
    """What KEY does to the entry of ROW: it puts its mark on, or takes it off again."""
    if key == "pin":
        return "unpin" if row.treatment == "pinned" else "pin"
    return "restore" if row.treatment == "dropped" else "drop"


async def take_back(desk: Desk, kind: Literal["undo", "redo"]) -> None:
    """/undo and /redo."""
    conversation = desk.conversation
    if _read_only(desk):
        return
    if conversation is None:
        desk.tell(f"There is nothing to {kind} yet.")
        return
    if conversation.busy:
        desk.tell(f"A reply is still coming; the {kind} follows it. Esc stops the reply.")
    await (conversation.undo() if kind == "undo" else conversation.redo())


async def mark(desk: Desk, row: EntryRow, key: Literal["pin", "drop"]) -> None:
    """p and d in the entries."""
    conversation = desk.conversation
    if conversation is None or _read_only(desk):
        return
    if not row.message:
        desk.tell(f"A summary cannot be {'pinned' if key == 'pin' else 'dropped'}. /undo takes its compression back.")
        return
    if conversation.busy:
        desk.tell("A reply is still coming; this follows it. Esc stops the reply.")
    await conversation.mark(row.message, mark_for(row, key))


async def fork(desk: Desk) -> None:
    """/fork: a new chain that goes on from here, opened at once."""
    conversation = desk.conversation
    if _read_only(desk) or desk.is_busy():
        return
    if conversation is None:
        desk.tell("There is nothing to fork yet; send a message first.")
        return
    try:
        session = await conversation.fork()
        await desk.open_chain(session.id)
    except Exception as error:
        desk.failed(error)
        return
    desk.tell(FORKED)


async def fork_at(desk: Desk, chain: str, generation: int) -> None:
    """A new chain that goes on from CHAIN as it stood at the end of GENERATION, opened at once."""
    if desk.player_runs:
        desk.app.notify(WATCHED, severity="warning", markup=False)
        return
    if desk.is_busy():
        return
    try:
        session = await desk.read(lambda store: store.fork(chain, generation=generation))
        desk.app.show_chat()
        await desk.open_chain(session.id)
    except Exception as error:
        desk.failed(error)
        return
    desk.tell(FORKED)


async def delete(desk: Desk, chain: ChainRecord) -> str:
    """Delete CHAIN, putting it away first where it lies open; returns why it was not, "" where it was."""
    conversation = desk.conversation
    if desk.player_runs:
        return WATCHED
    try:
        if conversation is not None and conversation.chain == chain.id:
            if conversation.busy:
                return "A reply is still coming in it. Esc in the conversation stops it; then it can be deleted."
            await desk.start_afresh()
        await desk.read(lambda store: store.delete_chain(chain.id))
    except Exception as error:
        return desk.words(error)
    return ""


def _read_only(desk: Desk) -> bool:
    """Whether what is looked at cannot be edited, which is said."""
    if desk.player_runs:
        desk.tell(WATCHED)
        return True
    if getattr(desk.app.screen, "is_past", False):
        desk.app.notify(PAST, severity="warning", markup=False)
        return True
    return False
