"""Extracts keep the lines that will be needed again, as they stand now, and read as sense."""

from __future__ import annotations

import time

import pytest

from hermes_tui.context.extraction import Extractor
from hermes_tui.context.facts import literals
from hermes_tui.context.messages import Message
from tests.context.test_ledger import act, cost, reply


def chosen(sources: list[Message], budget: int = 200, **given) -> str:
    extractor = Extractor(sources, **given)
    return "\n".join(f"# {section}\n{text}" for section, text in extractor.choose(budget, cost).prose)


def test_lines_stand_under_the_file_they_are_from() -> None:
    text = chosen([*act(0, "read", "def load_rows(path):\n    return parse_csv(path)\n", path="src/reader.py")])
    assert text == "# State\nsrc/reader.py:\n  def load_rows(path):\n  return parse_csv(path)"


def test_a_line_that_an_edit_took_out_is_left_out() -> None:
    sources = [
        *act(0, "read", "retry_limit = 3\nretry_delay = 10", path="src/net.py"),
        *act(2, "edit", "done", path="src/net.py", old_string="retry_limit = 3", new_string="retry_limit = 5"),
    ]
    text = chosen(sources)
    assert "retry_limit = 5" in text
    assert "retry_limit = 3" not in text


def test_what_was_used_lately_goes_before_what_was_used_once_long_ago() -> None:
    old = [m for n in range(20) for m in act(2 * n, "read", f"old_name_{n} = make_old_{n}()", path=f"src/old{n}.py")]
    new = [
        *act(40, "edit", "done", path="src/now.py", new_string="current_name = make_current()"),
        reply(42, "Now current_name holds."),
    ]
    text = chosen([*old, *new], 24)
    assert "current_name" in text
    assert "old_name_0" not in text


def test_what_stands_verbatim_beside_is_not_told_again() -> None:
    sources = [reply(0, "The port is kept in listen_port."), reply(1, "The host is kept in listen_host.")]
    text = chosen(sources, 14, beside=(reply(2, "listen_port is set."),))
    assert "listen_host" in text
    assert "listen_port" not in text


def test_the_topic_asked_for_comes_first() -> None:
    sources = [reply(n, f"The setting option_{n} was read from config_{n}.") for n in range(30)]
    sources.insert(3, reply(40, "The ports stay closed until the certificate is renewed."))
    assert "ports stay closed" in chosen(sources, 20, focus="ports")
    assert "ports stay closed" not in chosen(sources, 20)


def test_json_is_told_without_its_signs() -> None:
    result = (
        '{"reservation_id": "OBUT9V", "flights": [{"number": "HAT084", "price": 122}], "user": {"name": "Sofia"}}' + " " * 40
    )
    text = chosen([*act(0, "get_reservation", result, reservation_id="OBUT9V")])
    assert "flights: number: HAT084, price: 122" in text
    assert '"' not in text


def test_the_extracts_of_the_summary_before_stay_where_they_stood() -> None:
    earlier = (("State", "reader.py:\n  def load_rows(path):"), ("Decisions", "- SQLite was chosen for store_backend."))
    text = chosen([reply(0, "The parse_header was added.")], 100, earlier=earlier, paths={"src/reader.py": "reader.py"})
    assert "# State\nsrc/reader.py:\n  def load_rows(path):" in text
    assert "# Decisions\n- SQLite was chosen for store_backend." in text


def test_a_call_whose_result_is_not_among_the_sources_is_told_by_itself() -> None:
    assert "listen_port = 8080" in chosen([act(0, "write", "done", path="src/conf.py", content="listen_port = 8080")[0]])


def test_the_budget_is_kept_and_the_same_sources_give_the_same_lines() -> None:
    sources = [m for n in range(50) for m in act(2 * n, "bash", f"value_{n} = {n}000\n" * 5, command=f"show value_{n}")]
    for budget in (0, 10, 100, 400):
        text = chosen(sources, budget)
        assert sum(cost(line) for line in text.splitlines() if not line.startswith("#")) <= budget
        assert text == chosen(list(sources), budget)


@pytest.mark.parametrize("unit", ["a", "漢字", "/", "~/", "-", "a@", "a/", "a.", "1"])
def test_literals_of_one_endless_word_are_found_in_time_linear_in_it(unit: str) -> None:
    started = time.process_time()
    literals(unit * (60_000 // len(unit)))
    assert time.process_time() - started < 2
