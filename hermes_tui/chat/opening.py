"""Opening: what a conversation is made of, put together for one chain, new or to go on with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hermes_tui.chat.cache import account_of
from hermes_tui.chat.events import NoticeRaised
from hermes_tui.chat.offloop import OffLoop
from hermes_tui.chat.parts import Parts
from hermes_tui.chat.passes import Passes
from hermes_tui.chat.remembering import Remembering
from hermes_tui.chat.requests import Requests
from hermes_tui.chat.standing import Standing, Totals, failed, set_aside, taken_over
from hermes_tui.chat.system_prompt import prompt_of_new_chain
from hermes_tui.context import redaction
from hermes_tui.context.answers import sound_tools
from hermes_tui.context.engine import ContextEngine, EngineState
from hermes_tui.context.registry import UnknownEngine
from hermes_tui.context.tokens import Meter

if TYPE_CHECKING:
    from hermes_tui.store.records import Relation


@dataclass(frozen=True, slots=True)
class Opened:
    """A chain that is open: the parts it was opened with, where it stands, and what works on it."""

    parts: Parts
    standing: Standing
    passes: Passes
    requests: Requests
    remembering: Remembering


async def begun(parts: Parts, *, title: str, system: str | None, relation: Relation) -> Opened:
    """A new chain; see `Conversation.start_new`."""
    off = OffLoop()
    try:
        engine, why = engine_of(parts)
        tools = parts.tools.schemas if parts.tools is not None and parts.provider.tools else ()
        try:
            own = sound_tools(engine.tool_schemas(), [str(tool.get("name")) for tool in tools])
        except Exception as problem:
            engine, why, own = parts.new_compressor(), set_aside(engine.name, failed(problem)), ()
        prompt = await prompt_of_new_chain(parts) if system is None else system
        session = await off.stored(
            parts.store.create_chain,
            title=title,
            model=parts.model,
            system=prompt,
            tools=(*tools, *own) if parts.provider.tools else (),
            parameters={},
            relation=relation,
            cwd=str(parts.directory) if parts.directory else None,
        )
        scales = await off.stored(parts.store.learned_scales)
        await off.stored(parts.store.save_state, session.chain, EngineState(scales=scales))
        return await _opened(parts, off, session.chain, parts.model, (engine, why), afresh=True)
    except BaseException:
        off.close()
        raise


async def gone_on(parts: Parts, session_or_chain: str, model: str | None) -> Opened:
    """The tip of a chain; see `Conversation.open`."""
    off = OffLoop()
    try:
        tip = await off.stored(parts.store.tip, session_or_chain)
        known = {info.id for info in parts.infos}
        own = tip.model if not parts.embedded and (not known or tip.model in known) else parts.model
        return await _opened(parts, off, tip.chain, model or own, engine_of(parts))
    except BaseException:
        off.close()
        raise


async def _opened(
    parts: Parts, off: OffLoop, chain: str, model: str, engine: tuple[ContextEngine, str], *, afresh: bool = False
) -> Opened:
    store = parts.store
    session = await off.stored(store.tip, chain)
    view = await off.stored(store.view, chain)
    state = await off.stored(store.load_state, chain)
    facts = await off.thought(parts.facts, session.model)
    await off.thought(redaction.load)
    totals = Totals()
    records = await off.stored(store.requests, chain)
    for record in records:
        if record.usage is not None:
            totals = totals.plus(record.usage, record.cost, record.purpose)
    standing = Standing(
        store=store,
        engine=engine[0],
        set_aside=engine[1],
        fallback=parts.new_compressor,
        meter=Meter(parts.count),
        settings=parts.settings,
        off=off,
        publish=parts.publish,
        session=session,
        view=view,
        state=state,
        facts=facts,
        totals=totals,
        cache=account_of(records, view),
        embedded=parts.embedded,
        trusts_usage=parts.trusts_usage,
        clock=parts.clock,
    )
    requests = Requests(standing, parts.provider)
    remembering = Remembering(standing, parts.memory)
    passes = Passes(
        standing,
        requests,
        await off.thought(parts.summary),
        remembering,
        parts.cost,
        parts.retry_delays,
    )
    if session.model != model:
        await standing.switch(await off.thought(parts.facts, model))
    else:
        await standing.refresh()
    if afresh:
        await standing.ask_engine(lambda engine: engine.on_session_reset(session.id))
    await standing.session_began()
    if engine[1]:
        parts.publish(NoticeRaised(taken_over(engine[1]), severity="warning"))
    remembering.began()
    return Opened(parts, standing, passes, requests, remembering)


def engine_of(parts: Parts) -> tuple[ContextEngine, str]:
    """The engine of a conversation made from PARTS, and why it is not the one that the settings name."""
    try:
        return parts.new_engine(), ""
    except UnknownEngine as problem:
        return parts.new_compressor(), set_aside(parts.settings.context.engine, str(problem))
