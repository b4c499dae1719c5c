"""``hermes-tui sessions``: the conversations, newest first, with the sessions each became."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from hermes_tui.cli.commands import Places, places
from hermes_tui.cli.lines import moment, write_json, write_text
from hermes_tui.cli.opening import open_store
from hermes_tui.context.messages import ID_SHOWN
from hermes_tui.tui.numbers import counted, short

if TYPE_CHECKING:
    from hermes_tui.store.records import ChainRecord, SessionRecord


@click.command()
@click.option("--json", "as_json", is_flag=True, help="A chain a line, as JSON.")
@places
@click.pass_obj
def sessions(where: Places, as_json: bool) -> None:
    """List the conversations, newest first, with the sessions each became."""
    with open_store(where.paths) as store:
        chains = store.chains() if store else ()
    for chain in chains:
        if as_json:
            write_json(_as_json(chain))
        else:
            _print(chain)
    if not chains and not as_json:
        write_text("No conversations yet.")


def _as_json(chain: ChainRecord) -> dict[str, Any]:
    return {
        "chain": chain.id,
        "title": chain.title,
        "tip": chain.tip.id,
        "sessions": [
            {
                "id": session.id,
                "ordinal": session.ordinal,
                "parent": session.parent,
                "relation": session.relation,
                "end_reason": session.end_reason,
                "tokens_before": session.tokens_before,
                "tokens_after": session.tokens_after,
            }
            for session in chain.sessions
        ],
        "messages": chain.messages,
        "updated_at": moment(chain.updated_at),
    }


def _print(chain: ChainRecord) -> None:
    when = datetime.fromtimestamp(chain.updated_at).strftime("%Y-%m-%d %H:%M")
    size = f"{counted(len(chain.sessions), 'session')}, {counted(chain.messages, 'message')}"
    first = chain.sessions[0]
    if first.relation == "fork" and first.parent is not None:
        size = f"fork of {first.parent[-ID_SHOWN:]}, {size}"
    write_text(f"{chain.tip.id[-ID_SHOWN:]}  {when}  {chain.title or 'untitled'}  ({size})")
    if len(chain.sessions) > 1:
        for session in chain.sessions:
            write_text(f"        {session.ordinal:>3}  {session.id[-ID_SHOWN:]}  {_ending(session)}")


def _ending(session: SessionRecord) -> str:
    if session.is_live:
        return "live"
    if session.tokens_before is None or session.tokens_after is None:
        return f"ended by {session.end_reason}"
    return f"ended by {session.end_reason}, {short(session.tokens_before)} → {short(session.tokens_after)}"
