"""Processes of our own on one database: one that has imported everything, and forks whatever a test asks for.

Run as ``python -m tests.store.forked``; reads lines of JSON, an action, the path of a database and what else the action takes,
and answers each with one of what the processes said.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import alembic.command  # noqa: F401 - imported once, before the forks
from sqlalchemy import Engine, event

from hermes_tui.context.editing import EditRefused
from hermes_tui.context.messages import text_block
from hermes_tui.context.undoing import taken_back
from hermes_tui.store.database import Database
from hermes_tui.store.records import Applied
from hermes_tui.store.store import Store
from tests.store.stored import compression
from tests.store.talk import (
    CALL,
    STARTED,
    apply,
    ask,
    begin_request,
    prune,
    reply,
    say,
    start,
    summarise,
    turns,
)

PROCESSES = 4
ROUNDS = 12


# Several at once


def begin(path: Path, number: int) -> list[Any]:
    """Open a database that is not there yet, and start a conversation in it."""
    store = Store.open(path)
    start(store, title=f"from {number}")
    store.close()
    return ["begun"]


def talk(path: Path, number: int) -> list[Any]:
    """Say something and compress, over and over, in the one chain there is, with whatever view one has."""
    store = Store.open(path)
    chain = store.chains()[0].id
    won = lost = 0
    said = []
    for n in range(ROUNDS):
        view = store.view(chain)
        said.append(say(store, chain, f"{number}/{n}").content[0]["text"])
        made = prune(view, (view.entries[-2].position,)) if n % 3 else summarise(view, 1, max(2, len(view.entries) - 4))
        if isinstance(apply(store, made), Applied):
            won += 1
        else:
            lost += 1
    store.close()
    return [won, lost, said]


def split(path: Path, number: int) -> list[Any]:
    """Carry out the very same plan as everybody else."""
    store = Store.open(path)
    chain = store.chains()[0].id
    done = apply(store, summarise(store.view(chain, generation=0), 2, 8))
    tip = done.session if isinstance(done, Applied) else done.tip
    store.close()
    return [isinstance(done, Applied), tip.id, tip.ordinal]


def undo(path: Path, number: int) -> list[Any]:
    """Undo the very same edit as everybody else."""
    store = Store.open(path)
    chain = store.chains()[0].id
    try:
        done = store.edit(taken_back(store.view(chain), store.history(chain), store.edits(chain), 1, "undo"))
    except EditRefused as refusal:
        return [False, refusal.kind]
    finally:
        store.close()
    return [isinstance(done, Applied), "moved"]


def at_once(action: Callable[[Path, int], list[Any]], path: Path) -> list[Any]:
    """What ACTION said in each of several processes that started together."""
    gate_out, gate_in = os.pipe()
    answers = []
    children = []
    for number in range(PROCESSES):
        answer_out, answer_in = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(gate_in)
            os.read(gate_out, 1)  # until the parent closes its end
            try:
                os.write(answer_in, json.dumps(action(path, number)).encode())
            except BaseException as error:
                os.write(answer_in, json.dumps([repr(error)]).encode())
            os._exit(0)
        children.append(child)
        os.close(answer_in)
        answers.append(answer_out)
    os.close(gate_in)
    found = [json.loads(b"".join(iter(lambda out=out: os.read(out, 65536), b""))) for out in answers]
    for child in children:  # else whoever waits for a process of his own may be given one of these
        os.waitpid(child, 0)
    return found


# Killed while replies stream


_streaming: list[int] = []


def stream(path: Path) -> None:
    """Leave replies streaming in a process of their own."""
    ready_out, ready_in = os.pipe()
    child = os.fork()
    if child == 0:
        store = Store.open(path)
        for blocks in ([text_block("half a rep")], [text_block("I look."), CALL], [STARTED]):
            chain = start(store)
            store.save_draft(chain, ask(store, chain), blocks, streaming=0)
        os.write(ready_in, b"streaming")
        signal.pause()
    os.read(ready_out, 9)
    _streaming.append(child)


def kill_stream(path: Path) -> None:
    """Kill that process, and see it gone."""
    child = _streaming.pop()
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


# Killed at every statement


def killed_at(action: Callable[[Store, str], None], path: Path, chain: str, step: int = 1) -> Iterator[tuple[int, bool, Path]]:
    """ACTION on a fresh copy of the database at PATH, killed at its first statement, its second, … until it gets to its end.

    With a STEP, at every so many-th statement only.

    Yields the number of the statement, whether the process was killed, and the copy.
    """
    for statement in range(1, 200, step):
        copy = Path(shutil.copy(path, path.with_name(f"copy{statement}.db")))
        child = os.fork()
        if child == 0:
            store = Store(Database(copy), ())  # as one that was opened before the draft was abandoned
            _kill_at(store, statement)
            action(store, chain)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        killed = os.WIFSIGNALED(status)
        if not killed and os.waitstatus_to_exitcode(status) != 0:
            raise RuntimeError(f"{action.__name__} failed by itself at statement {statement}")
        yield statement, killed, copy
        for each in path.parent.glob(copy.name + "*"):
            each.unlink()
        if not killed:
            return


def _kill_at(store: Store, statement: int) -> None:
    """Kill this process as from outside when STORE has come to its STATEMENT-th statement, commits counted too."""
    seen = 0

    def count(*_: object, **__: object) -> None:
        nonlocal seen
        seen += 1
        if seen == statement:
            os.kill(os.getpid(), signal.SIGKILL)

    engine: Engine = store._database._write_engine
    event.listen(engine, "before_cursor_execute", count)
    event.listen(engine, "commit", count)


def _split(store: Store, chain: str) -> None:
    apply(store, summarise(store.view(chain), 2, 8))


def _prune(store: Store, chain: str) -> None:
    apply(store, prune(store.view(chain), (2, 4)))


def _append(store: Store, chain: str) -> None:
    say(store, chain, "one more")


def _compress(store: Store, chain: str) -> None:
    apply(store, compression(store.view(chain)))


def _finish(store: Store, chain: str) -> None:
    request = store.requests(chain)[0].id
    store.finish_draft(chain, request, [text_block("the whole reply")], "model-a")


def _undo(store: Store, chain: str) -> None:
    """A prune, and its undo."""
    apply(store, prune(store.view(chain), (2, 4)))
    store.edit(taken_back(store.view(chain), store.history(chain), store.edits(chain), 1, "undo"))


def _fork(store: Store, chain: str) -> None:
    store.fork(chain)


def _delete(store: Store, chain: str) -> None:
    store.delete_chain(chain)


KILLED = {
    "undo": _undo,
    "fork": _fork,
    "delete": _delete,
    "compress": _compress,
    "split": _split,
    "prune": _prune,
    "append": _append,
    "finish": _finish,
}


def kill_at(path: Path, action: str, chain: str, statement: int) -> bool:
    """Carry ACTION out on CHAIN in a process that is killed at that STATEMENT; False where it came to its end before."""
    child = os.fork()
    if child == 0:
        store = Store(Database(path), ())
        _kill_at(store, statement)
        KILLED[action](store, chain)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    if not os.WIFSIGNALED(status) and os.waitstatus_to_exitcode(status) != 0:
        raise RuntimeError(f"{action} failed by itself at statement {statement}")
    return os.WIFSIGNALED(status)


def kill(path: Path) -> dict[str, list[Any]]:
    """What the database looks like after each action was killed at each of its statements: one dict a statement."""
    store = Store.open(path)
    chain = start(store, title="A talk #12")
    turns(store, chain, 6)
    request = begin_request(store, chain)
    store.close()
    child = os.fork()
    if child == 0:  # the reply streamed in a process that is dead by now
        store = Store.open(path)
        store.save_draft(chain, request, [text_block("the whole re")])
        store.close()  # else it would stand in the log only, and not be copied
        os._exit(0)
    os.waitpid(child, 0)
    return {
        name: [_seen(copy, chain) | {"killed": killed} for _, killed, copy in killed_at(KILLED[name], path, chain, step)]
        for name, step in (("split", 1), ("prune", 1), ("append", 1), ("finish", 1), ("undo", 2))
    }


def kill_chains(path: Path) -> dict[str, list[Any]]:
    """What there is after the fork, and the deletion, of a compressed and forked chain was killed at many statements."""
    store = Store.open(path)
    chain = start(store)
    turns(store, chain, 6)
    apply(store, summarise(store.view(chain), 2, 8))
    store.fork(chain)
    say(store, chain, "only here")
    store.close()
    return {
        name: [_there(copy) | {"killed": killed} for _, killed, copy in killed_at(KILLED[name], path, chain, 3)]
        for name in ("fork", "delete")
    }


def _there(path: Path) -> dict[str, Any]:
    """The chains that a person finds there, and whether anything is left that belongs to none of them."""
    store = Store.open(path)
    chains = [
        [c.sessions[0].relation, len(c.sessions), c.messages, len(store.history(c.id)), len(store.edits(c.id))]
        for c in store.chains()
    ]
    with store._database.read() as connection:
        broken = connection.exec_driver_sql("PRAGMA foreign_key_check").all()
        orphans = "SELECT count(*) FROM messages WHERE id NOT IN (SELECT message FROM entries WHERE message IS NOT NULL)"
        left = connection.exec_driver_sql(orphans).scalar_one()
    found = len(store.search("only here"))
    store.close()
    return {"chains": sorted(chains), "broken": len(broken), "orphans": left, "found": found}


def birth(path: Path) -> list[Any]:
    """What a person finds who opens a database again whose very making was killed at many of its statements."""
    found = []
    for statement in range(1, 400, 3):
        path.unlink(missing_ok=True)
        child = os.fork()
        if child == 0:
            _kill_any_at(statement)
            Store.open(path)
            os._exit(0)
        killed = os.WIFSIGNALED(os.waitpid(child, 0)[1])
        store = Store.open(path)
        found.append({"killed": killed, "goes_on": say(store, start(store), "hello").sequence == 0})
        store.close()
        if not killed:
            return found
    raise RuntimeError("it never came to its end")


def _kill_any_at(statement: int) -> None:
    """The same for every engine that is made from now on."""
    seen = 0

    def count(*_: object, **__: object) -> None:
        nonlocal seen
        seen += 1
        if seen == statement:
            os.kill(os.getpid(), signal.SIGKILL)

    event.listen(Engine, "before_cursor_execute", count)
    event.listen(Engine, "commit", count)


def _seen(path: Path, chain: str) -> dict[str, Any]:
    """What a person finds who opens the database again, and says something more in it."""
    store = Store.open(path)
    view = store.view(chain)
    links = store.sessions(chain)
    seen = {
        "generation": view.generation,
        "entries": [[e.position, e.treatment, e.born, e.message is None] for e in view.entries],
        "sessions": [[s.ordinal, s.relation, s.end_reason, s.title] for s in links],
        "edits": len(store.edits(chain)),
        "session": view.session == links[-1].id,
        "texts": [m.content[0]["text"] for m in store.messages(chain)],
        "covered": sorted(
            m.sequence for m in store.messages(chain) if view.summary is not None and m.id in view.summary.covered
        ),
    }
    goes_on = reply(store, chain, "going on").sequence == len(store.messages(chain)) - 1
    store.close()
    return seen | {"goes_on": goes_on}


ACTIONS: dict[str, Callable[..., Any]] = {
    "begin": lambda path: at_once(begin, path),
    "talk": lambda path: at_once(talk, path),
    "split": lambda path: at_once(split, path),
    "undo": lambda path: at_once(undo, path),
    "kill": kill,
    "kill_at": kill_at,
    "kill-chains": kill_chains,
    "birth": birth,
    "stream": stream,
    "kill-stream": kill_stream,
}


if __name__ == "__main__":
    for line in sys.stdin:
        asked, target, *more = json.loads(line)
        print(json.dumps(ACTIONS[asked](Path(target), *more)), flush=True)
