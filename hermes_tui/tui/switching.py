"""Going on with another model or another key."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

from hermes_tui.tui.aside import aside
from hermes_tui.tui.numbers import short
from hermes_tui.tui.screens.choose import Choice, ChooseScreen

if TYPE_CHECKING:
    from hermes_tui.tui.desk import Desk

ASK_SECONDS = 10.0
"""How long a provider may take to name its models when the user asks."""


async def choose_model(desk: Desk) -> None:
    """Ask the provider what it has, and let one be chosen."""
    room = desk.room
    if room is None:
        return
    try:
        infos = await asyncio.wait_for(room.choice.provider.models(), ASK_SECONDS)
    except Exception as error:
        from hermes_tui.tui.failures import foreseen

        why = foreseen(error) or f"{room.answers()} did not answer."
        desk.tell(f"The models on offer are not known: {why} /model NAME takes one by name.", "warning")
        return
    desk.room = replace(room, infos=tuple(infos))
    current = desk.conversation.view.model if desk.conversation else room.model
    choices = [
        Choice(info.id, info.id, " · ".join(p for p in (info.name, f"{short(info.window)} window" if info.window else "") if p))
        for info in infos
    ]

    def chosen(name: str | None) -> None:
        if name is not None:
            desk.app.run_worker(switch_model(desk, name), group="store", exit_on_error=False)

    desk.app.push_screen(ChooseScreen("Model", choices, current=current), chosen)


async def switch_model(desk: Desk, name: str) -> None:
    """Go on with the model NAME from the next message on, and remember it for new conversations."""
    room = desk.room
    if room is None:
        return
    known = {info.id for info in room.infos}
    if room.embedded and name not in known:
        desk.tell("Only the embedded model runs here. /key adds a key for others.", "warning")
        return
    if known and name not in known:
        desk.tell(f"{name} is not on offer at {room.answers()}. /model lists what is.", "warning")
        return
    desk.room = replace(room, model=name)
    if desk.conversation is None:
        await desk.start_afresh()
    else:
        await desk.conversation.switch_model(name, room.infos or None)
        desk.renamed()
        desk.refresh_soon()
    if not room.embedded:
        desk.remember("model.name", name)
    desk.app.notify(f"{name} answers from the next message on.", markup=False, timeout=4)


def ask_key(desk: Desk) -> None:
    """Ask for a key, keep it, and go on with whoever it opens; also where nothing could be opened without one."""
    from hermes_tui.llm.keys import ANTHROPIC_ACCOUNT
    from hermes_tui.tui.screens.key import KeyScreen

    server = desk.room.server if desk.room is not None else ANTHROPIC_ACCOUNT

    def typed(key: str | None) -> None:
        if key:
            desk.app.run_worker(_use_key(desk, key, server), group="store", exit_on_error=False)

    desk.app.push_screen(KeyScreen(server), typed)


async def _use_key(desk: Desk, key: str, server: str) -> None:
    from hermes_tui.llm.keys import Keys
    from hermes_tui.tui.failures import foreseen, told
    from hermes_tui.tui.room import chosen_anew

    keys = desk.room.keys if desk.room is not None else Keys(desk.app.paths.key_file)
    try:
        place = await aside(keys.save, key, server)
        fresh = None if desk.room is None else await aside(chosen_anew, desk.room)
    except Exception as error:
        desk.tell(foreseen(error) or told(error, desk.app.paths.log), "error")
        return
    desk.app.notify(f"The key is kept in {place}.", markup=False, timeout=5)
    if fresh is None:
        await desk.open()
    else:
        await desk.take_room(fresh)
