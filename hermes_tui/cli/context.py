"""``hermes-tui context``: the body of the next request of a conversation, or of every request that was sent in it."""

from __future__ import annotations

import click

from hermes_tui.cli.commands import Places, places
from hermes_tui.cli.failures import Refused
from hermes_tui.cli.lines import write_json
from hermes_tui.cli.opening import open_store


@click.command()
@click.argument("session", metavar="SESSION")
@click.option("--sent", is_flag=True, help="Every request that was sent in the conversation, a line each, rendered again.")
@click.option("--generation", type=int, metavar="N", help="The context after the N-th edit, before the next: 0 is before any.")
@click.option("--json", "as_json", is_flag=True, help="A line for each request; without it they are indented, for people.")
@places
@click.pass_obj
def context(where: Places, session: str, sent: bool, generation: int | None, as_json: bool) -> None:
    """Print the body of the next request for an empty composer, as JSON.

    SESSION is the id of a session or its last six characters, as `hermes-tui sessions` lists them; the conversation that it
    belongs to is taken at its newest point, or as it stood when the edit after generation N was made: with --generation one
    looks behind compressions, undos, pins and drops.
    """
    if sent and generation is not None:
        raise Refused("--sent tells every request, --generation one moment; give one of them.")
    with open_store(where.paths) as store:
        if store is None:
            raise Refused(f"There is no conversation {session!r}: {str(where.paths.data)!r} holds none yet.")
        chain = store.resolve(session).chain
        if sent:
            from hermes_tui.chat.requests import sent_bodies

            for number, purpose, digest, body in sent_bodies(store, chain):
                write_json({"n": number, "purpose": purpose, "sha256": digest, "body": body}, indented=not as_json)
        else:
            from hermes_tui.chat.next_request import next_body
            from hermes_tui.config import load_settings
            from hermes_tui.llm.choose import choose_provider
            from hermes_tui.llm.tokenizer import load_counter

            settings = load_settings(where.paths.config)
            body = next_body(store, chain, settings, choose_provider(settings), load_counter(), generation=generation)
            write_json(body, indented=not as_json)
