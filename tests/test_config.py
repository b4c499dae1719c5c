"""Settings explain themselves, keep what the user wrote, and a broken file is told in one sentence."""

import os
import stat
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_tui.appearance import DEFAULT_THEME, Appearance, read_appearance
from hermes_tui.config import ConfigError, Settings, default_config_text, load_settings, save_setting
from hermes_tui.settings import AppearanceSection, Section


def read(text: str, tmp_path: Path, **environment: str) -> Settings:
    file = tmp_path / "config.toml"
    file.write_text(text)
    return load_settings(file, environment=environment)


def test_the_defaults_are_the_designs() -> None:
    s = load_settings(None, environment={})
    assert (s.model.name, s.summary.model, s.context.engine) == ("claude-sonnet-5-5", "claude-haiku-5-5", "compressor")
    assert (s.context.threshold_percent, s.context.protect_first_n, s.context.protect_last_n) == (0.50, 3, 20)
    assert (s.context.summary_target_ratio, s.context.auto, s.context.threshold_tokens) == (0.20, True, None)
    assert (s.model.max_tokens, s.model.window, s.provider.base_url) == (None, None, None)
    assert s.source_of("context.threshold_percent") == "default"


def test_the_file_the_app_writes_tells_every_setting_and_changes_none() -> None:
    text = default_config_text()
    assert load_settings(None, environment={}) == Settings(**tomllib.loads(text))
    for name, field in Settings.model_fields.items():
        section = field.annotation
        if isinstance(section, type) and issubclass(section, Section):
            assert f"[{name}]" in text
            for key, inner in section.model_fields.items():
                assert inner.description, f"{name}.{key} has no docstring"
                assert f"# {key} = " in text
                assert inner.description.strip().splitlines()[0] in text


def test_every_line_of_that_file_can_be_taken_into_use(tmp_path: Path) -> None:
    lines = default_config_text().splitlines()
    active = [line[2:] if line.startswith("# ") and _is_assignment(line[2:]) else line for line in lines]
    file = tmp_path / "config.toml"
    file.write_text("\n".join(active))
    loaded = load_settings(file, environment={})
    assert loaded.models["claude-sonnet-5-5"].price is not None
    assert loaded.source_of("appearance.theme") == "config"


def _is_assignment(text: str) -> bool:
    try:
        return bool(tomllib.loads(text))
    except tomllib.TOMLDecodeError:
        return False


def test_layers_win_in_their_order_and_are_remembered(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text('[context]\nthreshold_percent = 0.3\nprotect_last_n = 5\n[model]\nname = "from-file"\n')
    environment = {
        "HERMES_TUI_CONTEXT__PROTECT_LAST_N": "7",
        "HERMES_TUI_MODEL__NAME": "from-env",
        "HERMES_TUI_MODEL": "{not json",
    }
    s = load_settings(file, environment=environment, overrides={"model.name": "from-line", "model.window": None})
    assert (s.context.threshold_percent, s.source_of("context.threshold_percent")) == (0.3, "config")
    assert (s.context.protect_last_n, s.source_of("context.protect_last_n")) == (7, "environment")
    assert (s.model.name, s.source_of("model.name")) == ("from-line", "command line")
    assert (s.model.window, s.source_of("model.window")) == (None, "default")


def test_a_models_own_table_wins_for_that_model(tmp_path: Path) -> None:
    s = read('[context]\nthreshold_percent = 0.6\n[models."a.b-1"]\nthreshold_percent = 0.2\nwindow = 9000\n', tmp_path)
    assert (s.effective("threshold_percent", "a.b-1").value, s.effective("threshold_percent", "other").value) == (0.2, 0.6)
    assert (s.effective("window", "a.b-1").value, s.effective("window", "a.b-1").source) == (9000, "config")
    assert (s.effective("window", "other").value, s.effective("window", "other").source) == (None, "default")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[context]\nthreshold_percent = 1.5", "context.threshold_percent is 1.5, but must be a number from 0.05 to 0.9."),
        ("[context]\ntreshold_percent = 0.5", "context.treshold_percent is not a setting; did you mean threshold_percent?"),
        ("[contxt]\nauto = true", "contxt is not a setting; did you mean context?"),
        ("nonsense = 3", "nonsense is not a setting; known here: model, provider, context, summary"),
        ('[model]\nthinking = "lots"', 'model.thinking is \'lots\', but must be one of "auto", "off", "low"'),
        ('[tools]\nenabled = "maybe"', "tools.enabled is 'maybe', but must be true or false."),
        ('[model]\nname = ""', "model.name is '', but must be a text in quotes, not empty."),
        ("[model]\nname = 3", "model.name is 3, but must be a text in quotes, not empty."),
        ('model = "x"', "model is 'x', but must be a table."),
        ("[context]\nprotect_last_n = 2.5", "context.protect_last_n is 2.5, but must be a whole number, at least 1."),
        ("[provider]\nstall_seconds = 0", "provider.stall_seconds is 0, but must be a number above 0."),
        ('[provider]\nbase_url = "ftp://x"', "provider.base_url must be an address that begins with http:// or https://."),
        ('[models."a"]\nwindow = "x"', "models.a.window is 'x', but must be a whole number, at least 1."),
        ("[models.a]\nprice = { input = 1.0 }", "models.a.price.output is missing."),
        ("[models.a]\nfoo = 1", "models.a.foo is not a setting; known here: window, max_tokens"),
        ("models = 3", "models is 3, but must be a table."),
        ("name = = 1", "is not valid TOML"),
    ],
)
def test_a_broken_file_is_told_in_one_sentence(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(ConfigError) as error:
        read(text, tmp_path)
    sentence = str(error.value)
    assert sentence.startswith(str(tmp_path / "config.toml"))
    assert words in sentence
    assert "\n" not in sentence


def test_a_wrong_variable_and_a_wrong_option_are_named_as_such() -> None:
    with pytest.raises(ConfigError, match=r"The variable HERMES_TUI_CONTEXT__THRESHOLD_PERCENT is '7', but must be a number"):
        load_settings(None, environment={"HERMES_TUI_CONTEXT__THRESHOLD_PERCENT": "7"})
    with pytest.raises(ConfigError, match=r"The option for context.threshold_percent is 7, but"):
        load_settings(None, environment={}, overrides={"context.threshold_percent": 7})


@pytest.mark.skipif(sys.platform == "win32", reason="modes and folders there differ")
def test_a_file_that_is_no_text_or_cannot_be_read_is_told_too(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match="UTF-8"):
        load_settings(file, environment={})
    with pytest.raises(ConfigError, match="cannot be read"):
        load_settings(tmp_path, environment={})
    assert load_settings(tmp_path / "none.toml", environment={}).model.name == "claude-sonnet-5-5"


WRITTEN = """# mine
[appearance] # looks
theme = "dusk"   # the best
# ascii = false

[models."claude-sonnet-5-5"]
window = 5
"""


def test_saving_keeps_what_the_user_wrote(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text(WRITTEN)
    save_setting(file, "appearance.theme", "noon")
    save_setting(file, "appearance.ascii", True)
    save_setting(file, "models.claude-sonnet-5-5.threshold_percent", 0.4)
    save_setting(file, "context.auto", False)
    text = file.read_text()
    for line in ("# mine", "[appearance] # looks", 'theme = "noon"   # the best', "ascii = true", "window = 5"):
        assert line in text
    assert "# ascii" not in text
    s = load_settings(file, environment={})
    assert (s.appearance.theme, s.appearance.ascii, s.context.auto) == ("noon", True, False)
    assert s.models["claude-sonnet-5-5"].threshold_percent == 0.4
    save_setting(file, "appearance.ascii", None)
    assert load_settings(file, environment={}).source_of("appearance.ascii") == "default"


def test_the_first_saving_writes_the_whole_commented_file(tmp_path: Path) -> None:
    file = tmp_path / "new" / "config.toml"
    save_setting(file, "appearance.theme", "noon")
    save_setting(file, "model.window", 70_000)
    text = file.read_text()
    assert (
        text.replace('theme = "noon"', f'# theme = "{DEFAULT_THEME}"').replace("window = 70000", "# window = 200000")
        == default_config_text()
    )
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert os.listdir(file.parent) == ["config.toml"]


@pytest.mark.parametrize(
    ("key", "value"),
    [("appearance.colour", "x"), ("context.threshold_percent", 3), ("nothing.at.all", 1), ("models.x.window", "y")],
)
def test_what_is_not_allowed_is_not_saved(tmp_path: Path, key: str, value: Any) -> None:
    file = tmp_path / "config.toml"
    file.write_text(WRITTEN)
    with pytest.raises(ConfigError):
        save_setting(file, key, value)
    assert file.read_text() == WRITTEN


def test_a_config_that_is_a_link_stays_one(tmp_path: Path) -> None:
    real = tmp_path / "dotfiles" / "hermes.toml"
    real.parent.mkdir()
    real.write_text(WRITTEN)
    link = tmp_path / "config.toml"
    link.symlink_to(real)
    save_setting(link, "appearance.theme", "noon")
    assert link.is_symlink()
    assert 'theme = "noon"' in real.read_text()


def test_the_early_look_agrees_with_the_settings(tmp_path: Path) -> None:
    plain = AppearanceSection()
    assert Appearance(plain.theme, plain.ascii, plain.animations) == Appearance() == read_appearance(None, {})
    file = tmp_path / "config.toml"
    file.write_text('[appearance]\ntheme = "dusk"\nascii = true\nanimations = false\n')
    assert read_appearance(file, {}) == Appearance("dusk", True, False)
    environment = {"HERMES_TUI_APPEARANCE__THEME": "noon", "HERMES_TUI_APPEARANCE__ASCII": "false"}
    assert read_appearance(file, environment) == Appearance("noon", False, False)
    s = load_settings(file, environment=environment)
    assert (s.appearance.theme, s.appearance.ascii, s.appearance.animations) == ("noon", False, False)


@given(
    st.binary(max_size=60)
    | st.sampled_from([b"appearance = 3", b"[appearance]\ntheme = 3\nascii = 'x'", b"[appearance]\ntheme = ''"])
)
def test_the_early_look_never_fails(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    file = tmp_path_factory.mktemp("look") / "config.toml"
    file.write_bytes(data)
    assert read_appearance(file, {}).theme


def test_the_early_look_imports_nothing_heavy() -> None:
    script = (
        "import sys; import hermes_tui.appearance, hermes_tui.paths; hermes_tui.appearance.read_appearance(None)\n"
        "print([m for m in ('pydantic', 'tomlkit', 'anthropic', 'keyring', 'platformdirs') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
