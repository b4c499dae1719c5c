"""The looks of a transcript: its component classes in the colours of the theme. Weight and space instead of boxes."""

LOOKS = """
Transcript {
    background: $background;
    color: $foreground 92%;
    overflow-x: hidden;
    overflow-y: auto;
    scrollbar-gutter: stable;
    scrollbar-size-vertical: 1;
    scrollbar-background: $background;
    scrollbar-background-hover: $background;
    scrollbar-background-active: $background;
    scrollbar-color: $foreground 15%;
    scrollbar-color-hover: $foreground 30%;
    scrollbar-color-active: $foreground 45%;

    .transcript--user { color: $foreground; }
    .transcript--user-name { color: $text-primary; text-style: bold; }
    .transcript--reply { }
    .transcript--reply-name { color: $foreground 60%; text-style: bold; }
    .transcript--queued { color: $foreground 50%; }
    .transcript--muted { color: $foreground 45%; }
    .transcript--caret { color: $text-primary; }
    .transcript--cursor { color: $primary; }
    .transcript--selection { background: $screen-selection-background; color: $foreground; }

    .transcript--heading { color: $foreground; text-style: bold; }
    .transcript--heading-1 { color: $text-primary; }
    .transcript--heading-2 { color: $text-primary; }
    .transcript--heading-4 { color: $foreground 70%; }
    .transcript--strong { color: $foreground; text-style: bold; }
    .transcript--em { text-style: italic; }
    .transcript--strike { color: $foreground 50%; text-style: strike; }
    .transcript--inline-code { color: $text-accent; }
    .transcript--link { color: $text-primary; text-style: underline; }
    .transcript--bullet { color: $foreground 50%; }
    .transcript--quote { color: $foreground 65%; }
    .transcript--quote-bar { color: $foreground 25%; }
    .transcript--rule { color: $foreground 20%; }
    .transcript--table-header { color: $foreground; text-style: bold; }
    .transcript--table-rule { color: $foreground 25%; }

    .transcript--code { background: $surface; color: $foreground 90%; }
    .transcript--code-label { color: $foreground 35%; }
    .transcript--syntax-comment { color: $foreground 45%; text-style: italic; }
    .transcript--syntax-keyword { color: $text-accent; }
    .transcript--syntax-string { color: $text-success; }
    .transcript--syntax-number { color: $text-warning; }
    .transcript--syntax-builtin { color: $text-secondary; }
    .transcript--syntax-function { color: $text-primary; }
    .transcript--syntax-deleted { color: $text-error; }
    .transcript--syntax-inserted { color: $text-success; }

    .transcript--card-glyph { color: $foreground 45%; }
    .transcript--card-name { color: $foreground 75%; }
    .transcript--card-argument { color: $foreground 45%; }
    .transcript--card-tokens { color: $foreground 45%; }
    .transcript--card-thought { color: $foreground 50%; text-style: italic; }
    .transcript--card-input { color: $foreground 45%; }
    .transcript--card-result { color: $foreground 65%; }
    .transcript--thought { color: $foreground 55%; text-style: italic; }

    .transcript--divider { color: $text-primary; }
    .transcript--divider-line { color: $foreground 25%; }
    .transcript--notice { color: $foreground 55%; }
    .transcript--warning { color: $text-warning; }
    .transcript--error { color: $text-error; }
}
"""
"""The widget's default CSS."""
