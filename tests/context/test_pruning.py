"""Layer 1: what a placeholder says, what it may never lose, and what goes first."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_tui.context.acts import Declaration
from hermes_tui.context.messages import Message, result_text
from hermes_tui.context.placeholders import PRUNED_OVER, Origin, clipped_results, main_argument
from hermes_tui.context.pointers import resolved
from hermes_tui.context.pruning import AGED, Pruner, pruned_call, pruned_input, pruned_media
from hermes_tui.context.regions import Span, spans_of
from hermes_tui.context.view import Change, ContextView, Entry, Treatment
from tests.strategies import view_of

LONG = "a line of output\n" * 40
HERE = Origin("01JABCDEFGHJKMNPQRST0123456")
SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
COLOURED = "\x1b[31mred\x1b[0m \x1b]0;title\x07\x9b1m \u202eleft\u2066"


def call(name: str = "read_file", identifier: str = "t1", **arguments: object) -> dict[str, Any]:
    return {"type": "tool_use", "id": identifier, "name": name, "input": arguments}


def result(text: object, identifier: str = "t1", **more: object) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": identifier, "content": text, **more}


def pair(*blocks: dict[str, Any], start: int = 1) -> tuple[Message, Message]:
    """Calls and their results as messages, at sequence START."""
    half = len(blocks) // 2
    return (
        Message(f"01JCALLS{start:018d}", start, "assistant", tuple(blocks[:half]), "model", "model-a"),
        Message(f"01JRESULT{start:017d}", start + 1, "user", tuple(blocks[half:]), "tool"),
    )


def pruned(a_call: dict[str, Any], a_result: dict[str, Any], pruner: Pruner | None = None) -> Any:
    """The content of a result as it is sent once it is pruned; the result's own where it stays."""
    calls, results = pair(a_call, a_result)
    sent = (pruner or Pruner()).results(calls, results, [AGED])
    return sent[0]["content"] if sent is not None else a_result["content"]


IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "A" * 400_000}}
PAPER = {
    "type": "document",
    "title": "Lock order",
    "source": {"type": "text", "media_type": "text/plain", "data": "w" * 5_000},
}


class TestPlaceholders:
    def test_one_says_what_it_was_how_large_and_how_to_get_it_back(self) -> None:
        line = pruned(call(path="src/app.py"), result(LONG))
        assert line.count("\n") == 0
        for part in ("read_file", "src/app.py", f"{len(LONG):,} characters", "call it again", "original 000001"):
            assert part in line

    def test_what_has_side_effects_is_not_told_to_be_called_again(self) -> None:
        line = pruned(call("run", command="./deploy.sh production"), result(LONG))
        assert "again" not in line
        assert "original 000001" in line

    def test_with_an_engine_that_reopens_messages_its_tool_is_named(self) -> None:
        line = pruned(call(path="src/app.py"), result(LONG), Pruner(reopening="recall_context"))
        assert "recall_context id 000001" in line

    def test_a_failed_command_keeps_its_exit_code_and_its_first_error_line(self) -> None:
        text = "collecting\n" * 40 + "Error: no such table: users\nmore\nCommand exited with code 3"
        line = pruned(call("run", command="make test"), result(text, is_error=True))
        for part in ("exit 3", "Error: no such table: users", "make test"):
            assert part in line

    def test_a_failed_read_keeps_what_went_wrong(self) -> None:
        line = pruned(call(path="a.py"), result("EACCES: permission denied, open 'a.py'\n" + LONG, is_error=True))
        assert "failed" in line
        assert "permission denied" in line

    def test_short_results_and_short_arguments_stay(self) -> None:
        assert pruned(call(path="a"), result("x" * PRUNED_OVER)) == "x" * PRUNED_OVER
        assert pruned_call([call(text="y" * PRUNED_OVER)], HERE) is None

    def test_a_long_argument_says_how_long_it_was_and_where_it_is(self) -> None:
        sent = pruned_call([{"type": "thinking", "thinking": "hm", "signature": "s"}, call(path="a", text="y" * 3_000)], HERE)
        assert sent is not None
        assert [b["type"] for b in sent] == ["tool_use"]
        assert sent[0]["input"]["path"] == "a"
        assert "3,000 characters" in sent[0]["input"]["text"]
        assert "original 123456" in sent[0]["input"]["text"]


class TestDeclarations:
    """A tool that nobody knows gets a good placeholder from what it declares, without a change anywhere else."""

    def test_its_main_argument(self) -> None:
        a_call = call("deploy", region="eu", target="staging")
        assert main_argument(a_call, Declaration("target")) == "staging"
        assert main_argument(a_call) == "eu"

    def test_its_exit_code_and_its_error_line(self) -> None:
        text = 'status=17\nnote: fine\nE: queue "rows" is gone\n' + LONG
        a_call, a_result = call("queue", queue="rows", action="drain"), result(text)
        declared = {"queue": Declaration("action", "ran", exit_code=r"^status=(\d+)", error_line=r"^E: ")}
        line = pruned(a_call, a_result, Pruner(declared))
        for part in ("queue drain", "exit 17", 'queue "rows" is gone'):
            assert part in line
        assert "17" not in pruned(a_call, a_result)

    def test_that_it_reads_files(self) -> None:
        """What it read goes first once the file was changed, as with any reader."""
        declared = {"peek": Declaration("doc", "read")}
        first = pair(call("peek", doc="a.txt"), result(LONG), start=1)
        second = pair(call("edit", path="a.txt", old="x", new="y"), result("done"), start=3)
        assert reasons(Pruner(declared), *first, *second)[0] == "changed later"

    @pytest.mark.parametrize("broken", ["(", "no group", "(?P<n>[)"])
    def test_a_pattern_that_is_none_is_passed_over(self, broken: str) -> None:
        declared = {"queue": Declaration(exit_code=broken, error_line=broken)}
        line = pruned(call("queue", queue="rows"), result(LONG + "exit code 4"), Pruner(declared))
        assert "exit 4" in line


class TestMedia:
    def test_images_and_documents_in_results_give_way_to_what_they_were(self) -> None:
        inner = pruned(call(path="shot.png"), result([{"type": "text", "text": "ok"}, IMAGE]))
        assert inner[0]["text"] == "ok"
        assert "image" in inner[1]["text"]
        for part in ("image/png", "300 kB", "original 000001"):
            assert part in inner[1]["text"]
        line = pruned(call(path="shot.png"), result([{"type": "text", "text": LONG}, PAPER]))
        for part in ("shot.png", "text/plain", "Lock order", "5,000 characters"):
            assert part in line

    def test_those_that_a_person_showed_too_and_what_was_said_stays(self) -> None:
        said = ({"type": "text", "text": "Look at this: " + LONG}, IMAGE, PAPER)
        sent = pruned_media(said, HERE)
        assert sent is not None
        assert sent[0] == said[0]
        assert [b["type"] for b in sent] == ["text"] * 3
        assert "image/png" in sent[1]["text"]
        assert pruned_media(sent, HERE) is None

    def test_an_address_with_a_password_is_not_repeated(self) -> None:
        shown = {"type": "image", "source": {"type": "url", "url": f"https://user:{SECRET}@host/x.png"}}
        sent = pruned_media([shown], HERE)
        assert sent is not None
        assert "host/x.png" in sent[0]["text"]
        assert SECRET not in sent[0]["text"]


def entries_of(*messages: Message) -> ContextView:
    asked = Message("01JASKED000000000000000000", 0, "user", ({"type": "text", "text": "go on"},), "user")
    return view_of((asked, *messages))


def spans(view: ContextView) -> tuple[Span, ...]:
    return spans_of(view, lambda _: 0)


def reasons(pruner: Pruner, *messages: Message) -> list[str]:
    """Why each result would go, oldest first, if all of them did."""
    marks = pruner.marks(spans(entries_of(*messages)), lambda *_: False)
    return [mark.reason for m in messages if m.origin == "tool" for mark in marks[m.id]]


class TestWhatGoesFirst:
    def test_a_read_that_was_read_again(self) -> None:
        one, two = pair(call(path="a.py"), result(LONG)), pair(call(path="./a.py"), result(LONG + "new"), start=3)
        assert reasons(Pruner(), *one, *two) == ["read again later", ""]

    @pytest.mark.parametrize("change", [{"old_string": "x", "new_string": "y"}, {"content": "all of it"}])
    def test_a_read_of_a_file_that_was_edited_or_written_since(self, change: dict[str, str]) -> None:
        one, two = pair(call(path="a.py"), result(LONG)), pair(call("edit", path="a.py", **change), result("ok"), start=3)
        assert reasons(Pruner(), *one, *two) == ["changed later", ""]

    def test_not_one_whose_file_was_read_elsewhere_or_in_vain(self) -> None:
        one = pair(call(path="a.py", offset=1), result(LONG))
        two = pair(call(path="a.py", offset=500), result(LONG + "new"), start=3)
        three = pair(call(path="a.py"), result("gone", is_error=True), start=5)
        assert reasons(Pruner(), *one, *two, *three) == ["", "", ""]

    def test_a_command_that_was_run_again(self) -> None:
        one, two = (
            pair(call("run", command="make"), result(LONG)),
            pair(call("run", command="make"), result(LONG + "x"), start=3),
        )
        assert reasons(Pruner(), *one, *two) == ["called again later", ""]


class TestDuplicates:
    """Of identical results the newest is kept, and what points to it points to something that is there."""

    ONE = pair(call("run", command="ls a"), result(LONG), start=1)
    TWO = pair(call("run", command="ls b"), result(LONG), start=3)
    THREE = pair(call("run", command="ls c"), result(LONG), start=5)

    def pruned(self, view: ContextView, *kept: int) -> ContextView:
        """VIEW with all results pruned but those at the sequences KEPT."""
        pruner, groups = Pruner(), spans(view)
        stays = {i for i, s in enumerate(groups) if s.group.messages[-1].sequence in kept}
        marks = pruner.marks(groups, lambda i, _: i in stays)
        opened = []
        for i, span in enumerate(groups):
            if span.group.kind == "calls" and i not in stays:
                sent = pruner.results(*span.group.messages, marks[span.group.messages[1].id])
                assert sent is not None
                opened.append(Entry(span.positions[1], span.group.messages[1], treatment=Treatment.PRUNED, sent=sent))
        return view.apply(Change(tuple(e.position for e in opened), tuple(opened)))

    def test_the_older_ones_point_to_the_newest(self) -> None:
        view = self.pruned(entries_of(*self.ONE, *self.TWO, *self.THREE), 6)
        assert pointers(view) == {4: 12, 8: 12}

    def test_nothing_points_to_what_is_pruned_with_it(self) -> None:
        assert pointers(self.pruned(entries_of(*self.ONE, *self.TWO, *self.THREE))) == {}

    def test_a_pinned_copy_further_up_is_not_called_further_down(self) -> None:
        assert pointers(self.pruned(entries_of(*self.ONE, *self.TWO), 2)) == {}

    @pytest.mark.parametrize("treatment", [Treatment.DROPPED, Treatment.CLIPPED])
    def test_when_the_copy_goes_the_pointers_are_worded_anew_in_the_same_edit(self, treatment: Treatment) -> None:
        view = self.pruned(entries_of(*self.ONE, *self.TWO, *self.THREE), 4, 6)
        assert pointers(view) == {4: 12}
        gone = next(e for e in view.entries if e.position == 12)
        sent = None if treatment is Treatment.DROPPED else ({**self.THREE[1].content[0], "content": "cut"},)
        change = Change((12,), (Entry(12, gone.message, treatment=treatment, sent=sent),))
        once = view.apply(resolved(view, change))
        assert pointers(once) == {4: 8}
        two = next(e for e in once.entries if e.position == 8)
        again = Change((8,), (Entry(8, two.message, treatment=Treatment.DROPPED),))
        assert pointers(once.apply(resolved(once, again))) == {}

    def test_an_edit_that_takes_no_copy_away_stays_as_it_is(self) -> None:
        view = self.pruned(entries_of(*self.ONE, *self.TWO, *self.THREE), 6)
        change = Change((2,), (Entry(2, self.ONE[0], treatment=Treatment.DROPPED),))
        assert resolved(view, change) is change


def pointers(view: ContextView) -> dict[int, int]:
    """Position of each pruned result that says where the same stands -> position of what it names; that must stand in full."""
    by_end = {e.message.id[-6:]: e for e in view.entries if e.message}
    found = {}
    for entry in view.entries:
        for block in entry.sent or ():
            named = re.search(r"in full further down \((\w{6})\)", result_text(block))
            if named and entry.message:
                copy = by_end[named[1]]
                assert copy.sent is None
                assert copy.treatment in (Treatment.VERBATIM, Treatment.PINNED)
                assert copy.position > entry.position
                originals = {result_text(b) for b in copy.message.content} if copy.message else set()
                assert any(result_text(b) in originals for b in entry.message.content)
                found[entry.position] = copy.position
    return found


class TestWhatIsQuoted:
    def test_secrets_do_not_reach_a_placeholder(self) -> None:
        line = pruned(call("run", command=f"curl -H 'Authorization: token {SECRET}' x"), result(LONG))
        assert SECRET not in line
        assert SECRET not in json.dumps(pruned_input({"token": SECRET, "text": LONG}, HERE))
        assert "hunter2" not in json.dumps(pruned_input({"password": "hunter2", "text": LONG}, HERE))
        assert "hunter2" not in json.dumps(pruned_input({"user": {"password": "hunter2 " * 40}}, HERE))
        assert "hunter2" not in pruned(call("login", password="hunter2", user="me"), result(LONG))
        assert SECRET not in json.dumps(pruned_input({"script": f"export GITHUB_TOKEN={SECRET}\n" + LONG}, HERE))
        failed = pruned(call("run", command="x"), result(f"error: token {SECRET} refused\n" + LONG, is_error=True))
        assert SECRET[:20] not in failed

    @pytest.mark.parametrize("before", range(0, 240, 7))
    def test_nor_the_part_of_one_that_a_cut_leaves(self, before: int) -> None:
        text = "x" * (before // 2) + " " * (before - before // 2) + SECRET + " " + LONG
        assert SECRET[:12] not in json.dumps(pruned_input({"script": text}, HERE))
        [clipped] = clipped_results([result(text + LONG)], 60, HERE, 4.0)
        assert SECRET[:12] not in result_text(clipped)

    def test_nor_does_what_a_terminal_would_obey(self) -> None:
        line = pruned(call("run", command=COLOURED), result(f"error: {COLOURED}\n" + LONG, is_error=True))
        assert "red" in line
        quoted = [line, pruned_input({"t": COLOURED * 30}, HERE)["t"], pruned_media([{**PAPER, "title": COLOURED}], HERE)]
        [clipped] = clipped_results([result(COLOURED * 200)], 100, HERE, 4.0)
        for text in (*map(str, quoted), result_text(clipped)):
            assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", text)
            assert "[31m" not in text


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=400),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(st.text(max_size=8), JSON, max_size=5))
def test_pruned_arguments_stay_json_with_the_same_keys_and_pruning_again_changes_nothing(arguments: dict[str, Any]) -> None:
    once = pruned_input(arguments, HERE)
    json.dumps(once)

    def keys(value: object) -> object:
        if isinstance(value, dict):
            return {k: keys(v) for k, v in value.items()}
        return [keys(v) for v in value] if isinstance(value, list) else None

    assert keys(once) == keys(arguments)
    assert pruned_input(once, HERE) == once


INNER = st.text(max_size=900) | st.lists(
    st.builds(lambda text: {"type": "text", "text": text}, st.text(max_size=300)) | st.sampled_from([IMAGE, PAPER]), max_size=4
)


@given(INNER, st.booleans(), st.dictionaries(st.sampled_from(["path", "command", "x"]), st.text(max_size=300)))
def test_a_pruned_result_pruned_again_is_the_same(inner: Any, failed: bool, arguments: dict[str, str]) -> None:
    a_call, a_result = call(**arguments), result(inner, is_error=failed)
    once = pruned(a_call, a_result)
    assert pruned(a_call, result(once, is_error=failed)) == once
    assert once == a_result["content"] or len(result_text({"content": once})) <= PRUNED_OVER


@given(st.lists(st.integers(0, 30_000), min_size=1, max_size=4), st.integers(60, 4_000))
def test_clipped_results_come_to_their_budget_and_keep_start_and_end(lengths: list[int], budget: int) -> None:
    content = [result("S" + "x" * n + "E") for n in lengths]
    sent = clipped_results(content, budget, Origin("0123456789"), 4.0)
    assert sum(len(result_text(b)) for b in sent) <= max(budget * 4, 200) + 120 * len(content)
    for before, after in zip(content, sent, strict=True):
        if after != before:
            assert result_text(after).startswith("S")
            assert result_text(after).endswith("E")
            assert "456789" in result_text(after)
            assert f"{len(result_text(before)):,}" in result_text(after)
