"""Opening a database: it is private, it is migrated at most once, and a file that is not ours or not whole is left as it is."""

from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from sqlalchemy import create_engine

from hermes_tui.store import opening
from hermes_tui.store.errors import (
    DatabaseBusy,
    DatabaseDamaged,
    DatabaseForeign,
    DatabaseGone,
    DatabaseNewer,
    DirectoryUnwritable,
    StoreError,
)
from hermes_tui.store.store import Store
from hermes_tui.store.tables import METADATA
from tests.store.conftest import Forked
from tests.store.talk import reply, say, start, turns


def contents(directory: Path) -> dict[str, bytes]:
    """Every file in DIRECTORY and its bytes."""
    return {str(p.relative_to(directory)): p.read_bytes() for p in sorted(directory.rglob("*")) if p.is_file()}


def is_private(path: Path) -> bool:
    return stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.fixture
def written(path: Path) -> Path:
    """A database with something in it, closed."""
    store = Store.open(path)
    turns(store, start(store), 40)
    store.close()
    return path


def test_only_its_owner_can_read_the_database_and_what_lies_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "hermes.db"
    before = os.umask(0)
    try:
        store = Store.open(path)
        say(store, start(store), "hello")
        files = sorted(path.parent.iterdir())
        assert [f.name for f in files] == ["hermes.db", "hermes.db-shm", "hermes.db-wal"]
        assert all(is_private(f) for f in files)
        store.close()
    finally:
        os.umask(before)
    assert [f.name for f in path.parent.iterdir()] == ["hermes.db"]


def test_what_was_said_is_there_when_it_is_opened_again(path: Path) -> None:
    store = Store.open(path)
    chain = start(store)
    said = [say(store, chain, "hello"), reply(store, chain, "hi")]
    store.close()
    again = Store.open(path)
    assert list(again.messages(chain)) == said
    again.close()


def test_the_migrations_make_exactly_the_tables_that_the_code_speaks_of(path: Path) -> None:
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext

    with create_engine(f"sqlite:///{path}").connect() as connection:
        context = MigrationContext.configure(
            connection, opts={"include_name": lambda name, kind, _: kind != "table" or name in METADATA.tables}
        )
        assert compare_metadata(context, METADATA) == []


def test_the_newest_migration_is_the_version_that_the_code_knows() -> None:
    from alembic.script import ScriptDirectory

    from hermes_tui.store.database import MIGRATIONS

    assert ScriptDirectory(str(MIGRATIONS)).get_heads() == [f"{opening.SCHEMA_VERSION:04d}"]


def test_a_database_that_is_up_to_date_opens_without_the_migration_library(written: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from hermes_tui.store.store import Store; "
        "s = Store.open(Path(sys.argv[1])); s.chains(); s.close(); assert 'alembic' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code, str(written)], check=True)


def test_names_that_the_screen_needs_early_do_not_load_the_database_library() -> None:
    code = (
        "import sys, hermes_tui.store.errors, hermes_tui.store.records, hermes_tui.store.ids; "
        "assert not {'sqlmodel', 'sqlalchemy', 'alembic'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_several_processes_may_make_the_same_database_at_once(tmp_path: Path, forked: Forked) -> None:
    path = tmp_path / "new" / "hermes.db"
    assert forked("begin", path) == [["begun"]] * 4
    store = Store.open(path)
    assert len(store.chains()) == 4
    assert is_private(path)
    store.close()


def zeroed(whole: bytes) -> bytes:
    return whole[:8192] + bytes(4096) + whole[12288:]


DAMAGE = {
    "text": lambda whole: b"this is not a database, it is a diary\n" * 40,
    "noise": lambda whole: bytes(range(256)) * 64,
    "one byte": lambda whole: b"\0",
    "a note": lambda whole: b"buy milk\n",
    "cut off": lambda whole: whole[: len(whole) * 2 // 3],
    "cut within a page": lambda whole: whole[:-100],
    "its head lost": lambda whole: bytes(100) + whole[100:],
    "a page lost": zeroed,
    "its middle overwritten": lambda whole: whole[: len(whole) // 2] + b"\xa5" * 20000 + whole[len(whole) // 2 + 20000 :],
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_a_damaged_file_is_named_in_a_sentence_and_left_as_it_is(written: Path, kind: str) -> None:
    written.write_bytes(DAMAGE[kind](written.read_bytes()))
    before = contents(written.parent)
    with pytest.raises(DatabaseDamaged, match=r"is damaged \(.+\)\. It was left as it is: .+\.$") as caught:
        Store.open(written)
    assert str(written) in caught.value.sentence
    assert contents(written.parent) == before


def test_a_database_that_lost_a_table_is_damaged(written: Path) -> None:
    with sqlite3.connect(written) as other:
        other.execute("DROP TABLE edits")
    other.close()
    before = contents(written.parent)
    with pytest.raises(DatabaseDamaged, match="the table edits is missing"):
        Store.open(written)
    assert contents(written.parent)["hermes.db"] == before["hermes.db"]


def test_a_newer_database_is_left_as_it_is(written: Path) -> None:
    with sqlite3.connect(written) as other:
        other.execute(f"PRAGMA user_version = {opening.SCHEMA_VERSION + 1}")
        other.execute("ALTER TABLE sessions RENAME TO conversations")
    other.close()
    before = contents(written.parent)
    with pytest.raises(DatabaseNewer, match=r"newer version.*update Hermes TUI"):
        Store.open(written)
    assert contents(written.parent) == before


def test_a_newer_version_that_still_has_it_open_is_seen_too(written: Path) -> None:
    before = written.read_bytes()
    other = sqlite3.connect(written, isolation_level=None)
    other.execute(f"PRAGMA user_version = {opening.SCHEMA_VERSION + 1}")
    assert written.read_bytes() == before, "the new version stands in the log only"
    with pytest.raises(DatabaseNewer):
        Store.open(written)
    assert written.read_bytes() == before
    other.close()


def test_another_programs_database_is_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "places.sqlite"
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE bookmarks (url)")
    other.close()
    before = contents(tmp_path)
    with pytest.raises(DatabaseForeign, match="another program"):
        Store.open(path)
    assert contents(tmp_path) == before


@pytest.mark.parametrize("place", ["under a file", "a directory", "a device"])
def test_a_place_that_cannot_be_written_is_said_with_what_to_do(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").write_text("mine")
    path = {
        "under a file": tmp_path / "file" / "hermes.db",
        "a directory": tmp_path,
        "a device": Path("/proc/hermes/hermes.db"),
    }[place]
    with pytest.raises(DirectoryUnwritable, match="--data-dir"):
        Store.open(path)
    assert contents(tmp_path) == {"file": b"mine"}


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="permissions bind only people who are not root")
@pytest.mark.parametrize("what", ["the file", "the directory", "no directory yet"])
def test_what_is_write_protected_is_said_with_what_to_do(written: Path, what: str) -> None:
    before = contents(written.parent)
    directory = written.parent
    path = {"the file": written, "the directory": written, "no directory yet": directory / "deeper" / "hermes.db"}[what]
    locked = written if what == "the file" else directory
    locked.chmod(0o400 if locked is written else 0o500)
    try:
        with pytest.raises(DirectoryUnwritable, match="--data-dir"):
            Store.open(path)
    finally:
        locked.chmod(0o700)
    assert contents(directory) == before


def test_looking_at_a_database_writes_nothing(written: Path) -> None:
    before = contents(written.parent)
    store = Store.open(written)
    (chain,) = store.chains()
    assert store.view(chain.id).entries
    assert store.edits(chain.id) == store.requests(chain.id) == ()
    store.close()
    assert contents(written.parent) == before


def test_a_store_that_was_closed_says_so(written: Path) -> None:
    store = Store.open(written)
    store.close()
    store.close()
    for call in (store.chains, lambda: store.set_title("x", "y")):
        with pytest.raises(StoreError, match="was closed"):
            call()


def test_a_database_that_somebody_holds_alone_is_busy_not_damaged(written: Path) -> None:
    other = sqlite3.connect(written, isolation_level=None)
    other.execute("PRAGMA journal_mode = DELETE")
    other.execute("BEGIN EXCLUSIVE")
    before = contents(written.parent)
    with pytest.raises(DatabaseBusy, match="nothing was written"):
        Store.open(written, patience=0.05)
    assert contents(written.parent) == before
    other.execute("ROLLBACK")
    other.close()


def test_a_file_of_no_bytes_is_a_new_database(tmp_path: Path) -> None:
    path = tmp_path / "hermes.db"
    path.touch()
    store = Store.open(path)
    assert store.chains() == ()
    store.close()


def test_a_damage_that_shows_only_later_is_a_sentence_too(written: Path) -> None:
    store = Store.open(written)
    whole = written.read_bytes()
    try:
        written.write_bytes(whole[:4096] + b"\xa5" * (len(whole) - 4096))
        with pytest.raises(StoreError, match=r"damaged|failed"):
            store.search("question")
    finally:
        written.write_bytes(whole)
        store.close()


@pytest.mark.parametrize("replaced", [False, True], ids=["removed", "replaced"])
def test_a_database_taken_away_while_open_says_so_instead_of_losing_what_is_said(tmp_path: Path, replaced: bool) -> None:
    path = tmp_path / "hermes.db"
    store = Store.open(path)
    chain = start(store)
    say(store, chain, "kept")
    path.unlink()
    if replaced:
        path.write_bytes(b"")
    with pytest.raises(DatabaseGone, match="removed or replaced"):
        say(store, chain, "would be lost")
    store.close()
