"""Files lie where the user says, for the user alone, and the log keeps no secrets."""

import logging
import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_tui import log
from hermes_tui.paths import Paths, find_paths, make_private_folder


def test_a_chosen_data_folder_holds_everything(tmp_path: Path) -> None:
    paths = find_paths(tmp_path, environment={})
    assert paths == Paths(tmp_path, tmp_path / "config.toml")
    assert (paths.database, paths.log, paths.key_file, paths.themes) == tuple(
        tmp_path / name for name in ("hermes.db", "hermes.log", "keys.toml", "themes")
    )
    assert find_paths(environment={"HERMES_TUI_DATA_DIR": str(tmp_path)}) == paths
    assert find_paths(tmp_path / "line", environment={"HERMES_TUI_DATA_DIR": str(tmp_path)}).data == tmp_path / "line"


def test_a_named_config_file_is_used_from_where_it_lies(tmp_path: Path) -> None:
    paths = find_paths(tmp_path / "data", tmp_path / "etc" / "h.toml", environment={})
    assert (paths.config, paths.themes) == (tmp_path / "etc" / "h.toml", tmp_path / "etc" / "themes")
    assert find_paths(tmp_path, environment={"HERMES_TUI_CONFIG": "~/x.toml"}).config == Path.home() / "x.toml"


def test_without_a_word_the_platforms_own_folders_are_used() -> None:
    paths = find_paths(environment={})
    assert paths.data.is_absolute()
    assert "hermes-tui" in str(paths.data)
    assert paths.config.name == "config.toml"


@pytest.mark.skipif(sys.platform == "win32", reason="no modes there")
def test_folders_are_private(tmp_path: Path) -> None:
    make_private_folder(tmp_path / "a")
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o700
    make_private_folder(tmp_path / "a")


@pytest.fixture
def logged(tmp_path: Path) -> Iterator[Path]:
    """A log file in use."""
    path = tmp_path / "hermes.log"
    log.start_logging(path)
    yield path
    log.stop_logging()


@pytest.mark.skipif(sys.platform == "win32", reason="no modes there")
def test_the_log_is_private_and_hides_keys(logged: Path) -> None:
    logging.getLogger("hermes_tui.llm").info(
        "sent %s with %s", "Authorization: Bearer abcdef0123456789", {"x-api-key": "topsecret"}
    )
    logging.getLogger("hermes_tui").warning("key sk-ant-api03-abcdefghijkl failed: 100 %% of %s", "it")
    text = logged.read_text()
    assert "[key hidden]" in text
    for secret in ("abcdef0123456789", "topsecret", "sk-ant"):
        assert secret not in text
    assert stat.S_IMODE(logged.stat().st_mode) == 0o600


def test_neither_what_was_said_nor_a_key_gets_into_the_log_with_an_exception(tmp_path: Path) -> None:
    from hermes_tui.context.redaction import redact

    path = tmp_path / "hermes.log"
    said = " ".join(["my", "dog", "is", "called", "Rex"])
    log.start_logging(path, clean=redact)
    try:
        raise ValueError(said)
    except ValueError:
        logging.getLogger("hermes_tui.tools").exception("tool failed with token=Zx81kLmq2291abCd")
    log.stop_logging()
    text = path.read_text()
    assert "ValueError" in text
    assert "test_paths.py" in text
    assert said not in text
    assert "Zx81kLmq2291abCd" not in text


def test_libraries_say_only_warnings_in_the_log_and_nothing_on_the_screen(
    logged: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    for name in ("anthropic", "httpx2", "sqlalchemy"):
        library = logging.getLogger(name)
        before = library.level
        library.setLevel(logging.DEBUG)  # as ANTHROPIC_LOG=debug does
        library.debug("a whole body")
        library.warning("a warning of %s", name)
        library.setLevel(before)
    assert "a whole body" not in logged.read_text()
    assert logged.read_text().count("a warning of") == 3
    assert capfd.readouterr() == ("", "")


def test_a_long_log_is_moved_aside_once(tmp_path: Path) -> None:
    path = tmp_path / "hermes.log"
    path.write_bytes(b"x" * (log.MAX_BYTES + 1))
    log.start_logging(path)
    logging.getLogger("hermes_tui").info("fresh")
    log.stop_logging()
    assert path.stat().st_size < 1_000
    assert os.path.getsize(path.with_name("hermes.log.old")) > log.MAX_BYTES
