"""Who answers follows from keys and settings, and a key goes only where it was meant to go."""

import stat
import sys
import time
import types
from pathlib import Path
from typing import Any

import pytest

from hermes_tui.config import load_settings
from hermes_tui.llm import keys as keys_module
from hermes_tui.llm.choose import Choice, NoProvider, choose, choose_provider
from hermes_tui.llm.embedded import EmbeddedModel
from hermes_tui.llm.keys import ANTHROPIC_ACCOUNT, KeyNotSaved, Keys
from hermes_tui.llm.messages_api import MessagesApi

OWN = "http://localhost:11434"


def chosen(environment: dict[str, str], **overrides: Any) -> Choice:
    settings = load_settings(None, environment=environment, overrides={k.replace("__", "."): v for k, v in overrides.items()})
    return choose(settings, Keys(environment=environment, use_keyring=False))


def key_of(choice: Choice) -> str:
    assert isinstance(choice.provider, MessagesApi)
    return choice.provider._key


def test_a_fresh_machine_gets_the_embedded_model_and_is_told_how_to_have_another() -> None:
    choice = chosen({})
    assert isinstance(choice.provider, EmbeddedModel)
    assert choice.provider.describe() == "embedded, 135M parameters"
    assert choice.model == choice.summariser == choice.provider.model
    assert "ANTHROPIC_API_KEY" in choice.why
    assert (choice.provider.window, choice.provider.max_tokens, choice.provider.tools) == (8_192, 2_048, False)
    assert dict(choice.provider.request_extras) == {"temperature": 0.3, "top_p": 0.9, "repeat_penalty": 1.12}


def test_a_key_means_anthropic() -> None:
    choice = chosen({"ANTHROPIC_API_KEY": " sk-1 "})
    assert choice.provider.name == "anthropic"
    assert key_of(choice) == "sk-1"
    assert (choice.model, choice.summariser) == ("claude-sonnet-5-5", "claude-haiku-5-5")
    assert choice.key_source == "ANTHROPIC_API_KEY"
    assert "sk-1" not in repr(choice)


def test_a_base_url_means_that_server_without_anthropics_key() -> None:
    choice = chosen({"ANTHROPIC_API_KEY": "sk-1", "HERMES_TUI_PROVIDER__BASE_URL": OWN + "/v1/"})
    assert choice.provider.name == "compatible"
    assert choice.base_url == OWN
    assert key_of(choice) == "none"
    assert key_of(chosen({"HERMES_TUI_API_KEY": "k2", "ANTHROPIC_API_KEY": "sk-1"}, provider__base_url=OWN)) == "k2"


def test_a_base_url_beside_a_key_in_the_environment_belongs_to_it() -> None:
    choice = chosen({"ANTHROPIC_API_KEY": "sk-1", "ANTHROPIC_BASE_URL": "https://gateway.example/"})
    assert (choice.base_url, key_of(choice)) == ("https://gateway.example", "sk-1")
    assert key_of(chosen({"ANTHROPIC_BASE_URL": "https://gateway.example/"})) == "none"


def test_kinds_can_be_set_by_hand() -> None:
    assert isinstance(chosen({"ANTHROPIC_API_KEY": "k"}, provider__kind="embedded").provider, EmbeddedModel)
    assert key_of(chosen({"ANTHROPIC_API_KEY": "k"}, provider__kind="anthropic", provider__base_url=OWN)) == "k"
    with pytest.raises(NoProvider, match="ANTHROPIC_API_KEY"):
        chosen({}, provider__kind="anthropic")
    with pytest.raises(NoProvider, match="base_url"):
        chosen({}, provider__kind="compatible")


def test_a_model_file_of_ones_own_is_named_in_the_status_line(tmp_path: Path) -> None:
    provider = choose_provider(
        load_settings(
            None, environment={}, overrides={"local.model_path": str(tmp_path / "qwen3-0.6b.gguf"), "local.context": 16_384}
        ),
        Keys(environment={}, use_keyring=False),
    )
    assert isinstance(provider, EmbeddedModel)
    assert (provider.describe(), provider.model, provider.window) == ("embedded, qwen3-0.6b.gguf", "qwen3-0.6b", 16_384)


class Ring(types.ModuleType):
    """A keyring that keeps what it is given."""

    def __init__(self) -> None:
        super().__init__("keyring")
        self.kept: dict[tuple[str, str], str] = {}

    def get_password(self, service: str, account: str) -> str | None:
        return self.kept.get((service, account))

    def set_password(self, service: str, account: str, value: str) -> None:
        self.kept[service, account] = value


def test_keys_are_found_in_the_environment_then_the_keyring_then_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ring = Ring()
    monkeypatch.setitem(sys.modules, "keyring", ring)
    file = tmp_path / "deep" / "keys.toml"
    assert Keys(file, {}).find() is None
    assert Keys(file, {}, use_keyring=False).save("from-file") == str(file)
    assert Keys(file, {}, use_keyring=False).save("other", OWN + "/") == str(file)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    found = Keys(file, {}).find()
    assert found is not None
    assert (found.value, found.source) == ("from-file", str(file))
    assert getattr(Keys(file, {}).find(OWN), "value", None) == "other"
    assert Keys(file, {}).save("from-ring") == "keyring"
    assert getattr(Keys(file, {}).find(), "value", None) == "from-ring"
    assert getattr(Keys(file, {"ANTHROPIC_API_KEY": "from-env"}).find(ANTHROPIC_ACCOUNT), "value", None) == "from-env"
    assert getattr(Keys(file, {"ANTHROPIC_API_KEY": "from-env"}).find(OWN), "value", None) == "other"


def test_a_keyring_that_hangs_or_fails_holds_nobody_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ring = Ring()
    monkeypatch.setattr(ring, "get_password", lambda *_: time.sleep(60))
    monkeypatch.setitem(sys.modules, "keyring", ring)
    monkeypatch.setattr(keys_module, "KEYRING_SECONDS", 0.1)
    began = time.monotonic()
    assert Keys(tmp_path / "keys.toml", {}).find() is None
    assert time.monotonic() - began < 30

    def fail(*_: Any) -> str:
        raise RuntimeError("no backend")

    monkeypatch.setattr(ring, "get_password", fail)
    assert Keys(tmp_path / "keys.toml", {}).save("k") == str(tmp_path / "keys.toml")


def test_a_damaged_key_file_and_a_folder_that_cannot_be_written_end_in_words(tmp_path: Path) -> None:
    file = tmp_path / "keys.toml"
    file.write_text("not = toml = at all")
    assert Keys(file, {}, use_keyring=False).find() is None
    (tmp_path / "plain").write_text("")
    with pytest.raises(KeyNotSaved, match="could not be kept"):
        Keys(tmp_path / "plain" / "keys.toml", {}, use_keyring=False).save("k")
