"""What is typed after a slash: a command, a message that only looks like one, or a word nobody knows."""

import pytest

from hermes_tui.tui.commands import COMMANDS, completions, typed_command


def test_a_command_takes_the_rest_of_the_line_as_its_argument() -> None:
    typed = typed_command("/compress  the ports of the importer ")
    assert typed is not None
    assert (typed.name, typed.argument) == ("compress", "the ports of the importer")
    assert typed.command is not None


@pytest.mark.parametrize("text", ["/usr/bin is full", "//help", "a /help", "/Help", "/", "", "1/2"])
def test_what_is_no_command_is_a_message(text: str) -> None:
    assert typed_command(text) is None


def test_a_word_nobody_knows_is_told_apart_from_a_message() -> None:
    typed = typed_command("/comprss now")
    assert typed is not None
    assert typed.command is None


def test_completions_begin_as_what_was_typed() -> None:
    assert [c.name for c in completions("/co")] == ["compress", "context", "copy"]
    assert completions("/") == COMMANDS
    assert completions("/compress ") == ()
    assert completions("hello") == ()


def test_the_commands_of_the_product_are_all_there() -> None:
    assert {"help", "compress", "new", "model", "sessions", "theme", "key", "inspector", "quit", "copy"} <= {
        c.name for c in COMMANDS
    }
