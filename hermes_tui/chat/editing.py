"""Edits by hand at work: undo, redo, pins and drops, each applied between turns; or refused in words, and nothing changed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Final, Literal

from hermes_tui.chat import breaker
from hermes_tui.chat.compressing import Compressing
from hermes_tui.chat.events import Edited, NothingEdited
from hermes_tui.chat.standing import Standing
from hermes_tui.context.check import violations
from hermes_tui.context.editing import MARKED, Edit, EditKind, EditRefused, Mark, check_fit, marked
from hermes_tui.context.undoing import redoable, taken_back, undoable

TRIES: Final = 3
"""Times that an edit is worked out afresh because another process was first; the fourth time that is said."""


class Editing:
    """Makes the edits by hand of one conversation.

    Args:
        standing: where the conversation stands.
        compressing: what prepares summaries beside the turns; told when what it prepares for is gone.
        boundary: held by a turn for all its time: an edit waits for its end.
    """

    def __init__(self, standing: Standing, compressing: Compressing, boundary: asyncio.Lock) -> None:
        self._at, self._compressing, self._boundary = standing, compressing, boundary

    async def take_back(self, kind: Literal["undo", "redo"], edit: str | None) -> None:
        """Undo or redo the edit of that id, or the one that is next. `Edited` or why not is published.

        Raises:
            StoreError: the database refused.
        """

        async def work_out() -> Edit:
            at = self._at
            edits = await at.off.stored(at.store.edits, at.chain)
            called: EditKind = kind
            if edit is None:
                target = undoable(edits) if kind == "undo" else redoable(edits)
            else:
                wanted = next((e for e in edits if e.id == edit), None)
                if wanted is None or wanted.generation is None:
                    raise EditRefused("nothing", "There is no such edit in this conversation.")
                target, called = wanted.generation, "redo" if wanted.kind == "undo" else "undo"
            rows = await at.off.stored(at.store.history, at.chain)
            return await at.off.thought(taken_back, at.view, rows, edits, target, called)

        await self._make(kind, work_out)

    async def mark(self, message: str, mark: Mark) -> None:
        """Pin or drop the group of the message of that id, or take that back. `Edited` or why not is published.

        Raises:
            StoreError: the database refused.
        """

        async def work_out() -> Edit:
            return await self._at.off.thought(marked, self._at.view, message, mark)

        await self._make(MARKED[mark], work_out)

    async def _make(self, kind: EditKind, work_out: Callable[[], Awaitable[Edit]]) -> None:
        """Work an edit out for the context as it is, and apply it; afresh where another process was first."""
        async with self._boundary:
            try:
                for _ in range(TRIES):
                    await self._at.reload()
                    await self._at.settle()
                    if await self._applied(await work_out()):
                        return
                raise EditRefused("moved", "Another process keeps changing this conversation. Nothing was changed; try again.")
            except EditRefused as refusal:
                await self._at.reload()  # another process may have been first between the reading of the view and of its edits
                self._at.publish(NothingEdited(kind, refusal.kind, refusal.sentence))

    async def _applied(self, edit: Edit) -> bool:
        """Apply EDIT; False where the chain has moved on since it was worked out.

        Raises:
            EditRefused: it would break the context, or what it makes larger does not fit.
        """
        from hermes_tui.store.records import Moved

        at, wanted = self._at, edit.change
        view = at.view
        change = await at.ask_engine(lambda engine: engine.resolved(view, wanted))
        edit = replace(edit, change=change)
        problems = await at.off.thought(violations, at.view, change, by_hand=True)
        if problems:
            raise EditRefused("unsound", f"{problems[0]} Nothing was changed.")
        after = await at.off.thought(at.after, change)
        edit = replace(edit, tokens_before=at.size.tokens, tokens_after=after.tokens)
        state = at.state_after(edit.generation + 1)
        if at.budgets is not None:
            check_fit(edit, at.budgets)
            if edit.target is not None:
                state = breaker.edited(state, edit.tokens_before, edit.tokens_after, at.budgets)
        applied = await at.off.stored(at.store.edit, edit, state=state)
        if isinstance(applied, Moved):
            return False
        if edit.target is not None:
            self._compressing.context_went_back()
        at.changed(applied.session, change, state)
        await at.refresh()
        at.publish(
            Edited(
                kind=edit.kind,
                edit=applied.edit.id,
                target=applied.edit.target,
                counts=edit.counts,
                tokens_before=edit.tokens_before,
                tokens_after=at.size.tokens,
            )
        )
        return True
