"""What is remembered of the user: learned once, changed by its user only, never from a recording, and kept by a migration."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_tui.context.notes import FoundNote, key_of
from hermes_tui.store import opening
from hermes_tui.store.database import MIGRATIONS
from hermes_tui.store.errors import DatabaseDamaged, DatabaseNewer, StoreError
from hermes_tui.store.store import Store
from tests.context.test_redaction import KEYS
from tests.store.talk import SOME, applied, reply, say, start, summarise, turns


def found(text: str, source: str, kind: Any = "fact", key: str = "", local: bool = False) -> FoundNote:
    return FoundNote(text, kind, source, key or key_of(text), local)


def words(store: Store) -> list[str]:
    return [note.text for note in store.notes.all()]


def test_a_note_says_where_it_came_from(store: Store) -> None:
    chain = start(store, "Trip to Lisbon")
    message = say(store, chain, "I live in Rome.")
    (note,) = store.notes.learn([found("I live in Rome", message.id)])
    assert (note.author, note.source, note.chain, note.title) == ("code", message.id, chain, "Trip to Lisbon")
    assert store.notes.all() == (note,)


def test_the_same_is_learned_once_and_a_later_statement_takes_its_place(store: Store) -> None:
    chain = start(store)
    for text, said in (("I live in Rome", "Rome"), ("i live in  rome!", "Rome"), ("I live in Bern", "Bern")):
        store.notes.learn([found(text, say(store, chain, text).id, key="place")])
        assert words(store) == [f"I live in {said}"]


def test_an_earlier_statement_that_is_read_again_changes_nothing(store: Store) -> None:
    chain = start(store)
    first, second = say(store, chain, "I live in Rome"), say(store, chain, "I live in Bern")
    for message, text in ((first, "I live in Rome"), (second, "I live in Bern"), (first, "I live in Rome")):
        store.notes.learn([found(text, message.id, key="place")])
    assert words(store) == ["I live in Bern"]


def test_a_deleted_note_does_not_come_back_from_the_same_words_only_from_new_ones(store: Store) -> None:
    chain = start(store)
    message = say(store, chain, "I prefer tabs.")
    (note,) = store.notes.learn([found("I prefer tabs", message.id)])
    store.notes.delete(note.id)
    store.notes.forget()
    assert store.notes.learn([found("I prefer tabs", message.id)]) == ()
    assert words(store) == []
    store.notes.learn([found("I prefer tabs", say(store, chain, "I prefer tabs.").id)])
    assert words(store) == ["I prefer tabs"]


def test_an_edited_note_keeps_its_source_and_is_not_learned_again_in_its_first_wording(store: Store) -> None:
    message = say(store, start(store), "I prefer tabs.")
    (note,) = store.notes.learn([found("I prefer tabs", message.id)])
    edited = store.notes.edit(note.id, "I prefer tabs,  in Python")
    assert (edited.text, edited.author, edited.source) == ("I prefer tabs, in Python", "user", message.id)
    store.notes.learn([found("I prefer tabs", message.id), found("I prefer tabs in Python", message.id)])
    assert store.notes.all() == (edited,)


def test_a_deleted_note_can_be_put_back_until_it_is_forgotten(store: Store) -> None:
    note = store.notes.add("I prefer tabs")
    assert store.notes.delete(note.id).deleted is not None
    assert words(store) == []
    assert store.notes.restore(note.id).text == "I prefer tabs"
    assert words(store) == ["I prefer tabs"]
    store.notes.delete(note.id)
    store.notes.forget()
    with sqlite3.connect(store.path) as other:
        assert "tabs" not in str(other.execute("SELECT text FROM notes").fetchall())
    other.close()


def test_nothing_is_learned_from_a_recording_a_model_or_nobody(store: Store) -> None:
    recorded = say(store, start(store, relation="import"), "I live in Rome.")
    chain = start(store)
    say(store, chain, "hello")
    answered = reply(store, chain, "I live in Rome.")
    for source in (recorded.id, answered.id, "01ARZ3NDEKTSV4RRFFQ69G5FAV"):
        assert store.notes.learn([found("I live in Rome", source)], "model") == ()
    assert words(store) == []


def test_a_note_of_a_project_is_for_its_directory_and_none_is_kept_without_one(store: Store) -> None:
    here, nowhere = start(store, cwd="/home/me/importer"), start(store)
    text = "always run ruff in this project"
    assert store.notes.learn([found(text, say(store, nowhere, text).id, "rule", local=True)]) == ()
    (note,) = store.notes.learn([found(text, say(store, here, text).id, "rule", local=True)])
    assert note.cwd == "/home/me/importer"
    assert note.holds_in("/home/me/importer")
    assert not note.holds_in("/work")
    assert not note.holds_in(None)


def test_secrets_and_control_characters_written_by_hand_are_not_stored(store: Store) -> None:
    note = store.notes.add("my key is\x1b[31m sk-ant-api03-abcdefghijklmnop\u202e")
    assert "abcdefghijklmnop" not in note.text
    assert not set(note.text) & {"\x1b", "\u202e"}
    with pytest.raises(ValueError, match="has to say something"):
        store.notes.add(" …\n")
    with pytest.raises(StoreError, match="not there any more"):
        store.notes.edit("nothing", "x")


@given(KEYS, st.sampled_from(["my key is {}", "{}", "use {} for the build"]))
@SOME
def test_no_secret_is_stored_whoever_found_it(shared_store: Store, key: str, form: str) -> None:
    message = say(shared_store, start(shared_store), "hello")
    shared_store.notes.learn([found(form.format(key), message.id)], "model")
    shared_store.notes.add(form.format(key))
    with sqlite3.connect(shared_store.path) as other:
        assert key not in str(other.execute("SELECT text FROM notes").fetchall())
    other.close()


def test_what_is_found_beyond_the_most_is_not_kept(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hermes_tui.store.notes.MOST", 3)
    message = say(store, start(store), "much")
    store.notes.learn([found(f"I prefer colour {n}", message.id) for n in range(5)])
    assert len(words(store)) == 3


def test_a_note_outlives_its_conversation_and_goes_along_with_no_fork(store: Store) -> None:
    chain = start(store, "Trip to Lisbon")
    message = say(store, chain, "I live in Rome.")
    fork = store.fork(chain)
    assert store.view(fork.chain).system == store.view(chain).system
    store.notes.learn([found("I live in Rome", message.id)])
    store.delete_chain(chain)
    (note,) = store.notes.all()
    assert (note.text, note.title) == ("I live in Rome", "")
    assert store.notes.learn([found("I live in Rome", message.id)]) == ()


# The migration


def as_version_1(path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    """A database as the first version makes and opens it."""
    from alembic import command
    from alembic.config import Config
    from sqlalchemy import create_engine

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    config.set_main_option("path_separator", "os")
    engine = create_engine(f"sqlite:///{path}")
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "0001")
    engine.dispose()
    monkeypatch.setattr(opening, "SCHEMA_VERSION", 1)
    return Store.open(path)


def rows(path: Path) -> dict[str, list[Any]]:
    """Every row of every table that the first version made."""
    with sqlite3.connect(path) as connection:
        found = {table: connection.execute(f"SELECT * FROM {table}").fetchall() for table in sorted(opening.TABLES[1])}
    connection.close()
    return found


def test_a_database_of_the_first_version_keeps_everything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "hermes.db"
    old = as_version_1(path, monkeypatch)
    chain = start(old, "Trip to Lisbon")
    turns(old, chain, 6)
    applied(old, summarise(old.view(chain), 0, 8))
    turns(old, chain, 2)
    view, hits = old.view(chain), old.search("question")
    old.close()
    before = rows(path)
    monkeypatch.undo()
    store = Store.open(path)
    assert rows(path) == before
    assert store.view(chain) == view
    assert store.search("question") == hits
    store.notes.learn([found("I live in Rome", say(store, chain, "I live in Rome.").id)])
    assert words(store) == ["I live in Rome"]
    store.close()


def test_the_first_version_refuses_a_database_of_this_one_and_leaves_it(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = path.read_bytes()
    monkeypatch.setattr(opening, "SCHEMA_VERSION", 1)
    with pytest.raises(DatabaseNewer, match=r"schema \d+, this one knows 1.*left as it is: update Hermes TUI"):
        Store.open(path)
    assert path.read_bytes() == before


def test_a_database_that_lost_its_notes_is_damaged(path: Path) -> None:
    with sqlite3.connect(path) as other:
        other.execute("DROP TABLE notes")
    other.close()
    with pytest.raises(DatabaseDamaged, match="the table notes is missing"):
        Store.open(path)
