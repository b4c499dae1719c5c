"""Themes: six and more that ship and can be read, files of one's own, and a sentence for every one that does not hold."""

from pathlib import Path

import pytest
from textual.color import Color

from hermes_tui.paths import built_in_theme_folders
from hermes_tui.tui.themes import DEFAULT, ThemeFile, ThemeUnusable, find_theme, read_theme, theme_files

SHIPPED = theme_files(built_in_theme_folders())
GOOD = (built_in_theme_folders()[0] / f"{DEFAULT}.toml").read_text(encoding="utf-8")


def contrast(one: str, other: str) -> float:
    """The contrast ratio of two colours (WCAG 2)."""

    def luminance(colour: Color) -> float:
        parts = [c / 255 for c in (colour.r, colour.g, colour.b)]
        r, g, b = (c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
        return 0.2126 * r + 0.7152 * g + 0.0722 * b

    light, dark = sorted((luminance(Color.parse(one)), luminance(Color.parse(other))), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_six_themes_and_more_ship_one_light_one_of_high_contrast() -> None:
    themes = [read_theme(path) for path in SHIPPED.values()]
    assert len(themes) >= 6
    assert any(not theme.dark for theme in themes)
    assert {DEFAULT, "hermes-light", "high-contrast"} <= set(SHIPPED)


@pytest.mark.parametrize("name", sorted(SHIPPED))
def test_text_of_a_shipped_theme_can_be_read(name: str) -> None:
    theme = read_theme(SHIPPED[name])
    least = 7.0 if name == "high-contrast" else 4.5
    base = theme.colors
    for colour in (base.foreground, base.muted):
        assert contrast(colour, base.background) >= least
    for colour in (base.accent, base.warning, base.error, base.success):
        assert contrast(colour, base.background) >= 4.5
    assert contrast(base.foreground, base.selection) >= 4.5
    assert contrast(base.foreground, base.surface) >= 4.5


@pytest.mark.parametrize("name", sorted(SHIPPED))
def test_the_five_regions_of_a_shipped_theme_are_five_colours(name: str) -> None:
    regions = read_theme(SHIPPED[name]).regions
    colours = [regions.system, regions.head, regions.summary, regions.middle, regions.tail]
    assert len(set(colours)) == 5
    assert all(contrast(colour, read_theme(SHIPPED[name]).colors.background) >= 4.5 for colour in colours)


def write(folder: Path, text: str, name: str = "mine") -> Path:
    path = folder / f"{name}.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_theme_of_ones_own_comes_before_the_one_that_ships(tmp_path: Path) -> None:
    write(tmp_path, GOOD.replace("Hermes dark", "My dark"), DEFAULT)
    assert find_theme(DEFAULT, (tmp_path, *built_in_theme_folders())).title == "My dark"


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('accent = "#e8b065"', 'accent = "blurple"', "colors.accent = 'blurple' is not a colour"),
        ('accent = "#e8b065"', "accent = 7", "colors.accent = '7' is not a colour"),
        ('accent = "#e8b065"', "", "colors.accent is missing"),
        ('accent = "#e8b065"', 'accent = "red"\nacent = "red"', "colors.acent is not known"),
        ("[regions]", "[areas]", "'areas' is not a key of a theme"),
        ("dark = true", 'dark = "yes"', "dark must be true or false"),
        ("dark = true", "dark = ", "is not valid TOML"),
        ('title = "Hermes dark"', "title = 3", "title must be a text"),
    ],
)
def test_a_theme_that_does_not_hold_says_which_file_and_which_key(tmp_path: Path, old: str, new: str, told: str) -> None:
    path = write(tmp_path, GOOD.replace(old, new, 1))
    with pytest.raises(ThemeUnusable) as problem:
        read_theme(path)
    assert "mine.toml" in str(problem.value)
    assert told in str(problem.value)


def test_a_missing_theme_names_those_there_are(tmp_path: Path) -> None:
    write(tmp_path, GOOD)
    with pytest.raises(ThemeUnusable, match=r"no theme called 'other'.*mine"):
        find_theme("other", (tmp_path,))


def test_no_control_character_of_a_theme_file_reaches_the_screen(tmp_path: Path) -> None:
    bad = GOOD.replace("Hermes dark", "Dark \\u001b]52;c;x\\u0007\\u202e[/b]")
    assert read_theme(write(tmp_path, bad)).title == "Dark ]52;c;x[/b]"
    with pytest.raises(ThemeUnusable) as problem:
        read_theme(write(tmp_path, GOOD.replace("#e8b065", "\\u001b]0;x\\u0007")))
    assert all(c.isprintable() for c in str(problem.value))


def test_every_variable_that_the_style_sheets_name_is_in_a_theme() -> None:
    theme = read_theme(SHIPPED[DEFAULT])
    made = theme.as_textual("x")
    assert isinstance(theme, ThemeFile)
    for region in ("system", "head", "summary", "middle", "tail"):
        assert made.variables[f"region-{region}"] == getattr(theme.regions, region)
