"""What the user ruled and decided stands word for word after five compressions with talk in between, without any model."""

from __future__ import annotations

import os
import random
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from hermes_tui.context.messages import Message
from hermes_tui.context.rendering import sent_rows
from hermes_tui.context.view import ContextView
from tests.context.histories import BLANK, budgets_of, engine
from tests.strategies import finished

DATA = Path(os.environ.get("HERMES_TUI_REAL_DATA") or Path(__file__).parents[3] / "shared" / "data") / "compactbench"
TEMPLATES = sorted(DATA.glob("*.yaml")) if DATA.is_dir() else []
CYCLES = 5
DISTRACTORS = 32
NAMES = ("Alice", "Kenji", "Priya", "Omar", "Zara", "Dimitri")
PROJECTS = ("billing audit", "mobile launch", "schema migration", "reports module", "webhook refactor")
ACTIONS = (
    "deploy on Fridays",
    "store passwords in plaintext",
    "hold database locks during outbound HTTP calls",
    "trust the X-Forwarded-For header blindly",
    "call eval() on user input",
    "cache forever without an invalidation strategy",
    "assume the server timezone is UTC without configuring it",
)
ASIDES = (
    "By the way, did you see that article about electric cars?",
    "Quick tangent: is it true that pandas have thumbs?",
    "I was thinking about lunch earlier.",
    "Unrelated, but what do you think of remote work in general?",
    "What should we tackle next?",
    "Which risk concerns you most right now?",
    "What could go wrong with the current plan?",
)
ANSWERS = (
    "Got it. Let me know if you want to switch focus back.",
    "Sure, I can address that. Is there anything more on the main thread?",
    "The first step is a short list of owners and dates, then a dry run on the staging copy before anything else is touched.",
    "The largest risk is the hand-over between the two teams; a written checklist of twelve points would cover most of it.",
)


def flat(text: str) -> str:
    """TEXT as the benchmark compares it."""
    return re.sub(r"\s+", " ", text.replace("\u200b", "").strip().lower())


def text_of(view: ContextView) -> str:
    return flat("\n".join(str(b.get("text", "")) for row in sent_rows(view) for b in row.content))


class Talk:
    """A conversation under the built-in engine, whose summaries are written by code."""

    def __init__(self, window: int) -> None:
        self.engine, self.window = engine(), window
        self.view = ContextView("c", "s", 0, "model-a")
        self.said = 0

    def say(self, role: str, text: str) -> str:
        """Say TEXT; the id of its message."""
        user = role == "user"
        message = Message(
            f"m{self.said:05}",
            self.said,
            "user" if user else "assistant",
            ({"type": "text", "text": text},),
            "user" if user else "model",
            None if user else "model-a",
        )
        self.view = self.view.append(message)
        self.said += 1
        return message.id

    @property
    def is_due(self) -> bool:
        budgets = budgets_of(self.view, self.window)
        return self.engine.should_compress(self.view, BLANK, budgets, 0.0).action == "compress"

    def compress(self) -> None:
        plan = self.engine.plan(self.view, BLANK, budgets_of(self.view, self.window), "")
        made = finished(self.engine.compress(plan, None))
        assert made.change is not None, made.refusal
        self.view = self.view.apply(made.change)

    @property
    def told(self) -> frozenset[str]:
        return self.view.summary.covered if self.view.summary else frozenset()


def asides(seed: int, questions: Sequence[str], answers: Sequence[str]) -> Iterator[tuple[str, str]]:
    rng = random.Random(seed)
    number = 0
    while True:
        number += 1
        yield "user", f"{rng.choice(questions)} ({number})"
        yield "assistant", rng.choice(answers)


def after_five_cycles(turns: Sequence[tuple[str, str]], talk_between: Iterator[tuple[str, str]], window: int) -> Iterator[str]:
    """The context as text after each of five compressions of TURNS with more talk in between."""
    talk = Talk(window)
    first = [talk.say(role, text) for role, text in turns]
    for _ in range(CYCLES):
        while not talk.is_due or talk.view.entries[-1].message.is_real_user:
            talk.say(*next(talk_between))
        talk.compress()
        yield text_of(talk.view)
    assert set(first[2:]) <= talk.told, "what was ruled and decided is told by the summary, not kept by chance"


# -- the templates of CompactBench (Apache-2.0), where they are at hand -------------------------------------------------


def bound(template: dict[str, Any], seed: int) -> dict[str, str]:
    """A value for every variable of TEMPLATE, no two alike."""
    rng = random.Random(seed)
    lexicons = {"person_name": [*NAMES], "project_noun": [*PROJECTS], "action_phrase": [*ACTIONS]}
    for words in lexicons.values():
        rng.shuffle(words)
    return {v["name"]: lexicons[v["generator"]].pop() for v in template["variables"]}


def filled(text: str, values: dict[str, str]) -> str:
    return re.sub(r"\{\{(\w+)\}\}", lambda found: values[found[1]], text)


def turns_of(template: dict[str, Any], values: dict[str, str], seed: int) -> list[tuple[str, str]]:
    talk = asides(seed, ASIDES, ANSWERS)
    turns: list[tuple[str, str]] = []
    for turn in template["transcript"]["turns"]:
        if turn["role"] == "distractor_block":
            turns += [next(talk) for _ in range(DISTRACTORS)]
        else:
            turns.append((turn["role"], filled(turn["template"], values)))
    if turns[-1][0] == "user":
        turns.append(("assistant", "Here is the next step that I suggest."))
    return turns


@pytest.mark.skipif(not TEMPLATES, reason="the benchmark's templates are not here")
@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.stem)
def test_locked_decisions_and_forbidden_actions_of_the_benchmark_survive(path: Path) -> None:
    template = yaml.safe_load(path.read_text())["template"]
    for seed, window in enumerate((2_048, 4_096)):
        values = bound(template, seed)
        truth = template["ground_truth"]
        # "approach: x" says what the decision x is about; the user said only x.
        locked = [str(t).split(": ")[-1] for t in (*truth.get("locked_decisions", ()), *truth.get("forbidden_behaviors", ()))]
        items = [item["expected"] for item in template["evaluation_items"]]
        asked = [item["value"] for item in items if item["check"] == "contains_normalized"]
        wanted = {flat(filled(str(text), values)) for text in (*locked, *asked)}
        turns = turns_of(template, values, seed)
        for cycle, text in enumerate(after_five_cycles(turns, asides(seed, ASIDES, ANSWERS), window), 1):
            assert not [want for want in wanted if want not in text], f"lost in cycle {cycle} with seed {seed}"


# -- conversations of our own, in the same spirit -------------------------------------------------------------------------

OWN = {
    "english": (
        [
            ("user", "We move the customer records to the new warehouse with Ingrid this month."),
            ("assistant", "Understood. What do I have to watch?"),
            ("user", "You must never copy card numbers into the staging tables. Not even masked ones."),
            ("assistant", "Clear."),
            ("user", "I first wanted nightly dumps, but scratch that: let's stream the change log instead."),
            ("assistant", "Streaming the change log it is."),
        ],
        ["never copy card numbers into the staging tables", "let's stream the change log instead"],
        ASIDES,
        ANSWERS,
    ),
    "chinese": (
        [
            ("user", "我们这个月和李明一起重做结算系统。"),
            ("assistant", "好的，有什么需要注意的吗？"),
            ("user", "绝对不要在周五发布，这是硬性规定。"),
            ("assistant", "明白了。"),
            ("user", "之前说用轮询，算了，改用消息队列来同步订单。"),
            ("assistant", "好的，改用消息队列。"),
        ],
        ["绝对不要在周五发布", "改用消息队列来同步订单"],
        ("顺便问一下，你觉得今天天气怎么样？", "你喜欢喝茶还是喝咖啡？", "下一步我们先做什么比较好？"),
        ("好的，我们可以先列出负责人和日期，然后在测试环境里演练一遍。", "最大的风险是两个团队之间的交接，需要写一份清单。"),
    ),
    "german": (
        [
            ("user", "Mit Jürgen bauen wir gerade die Rechnungsprüfung um."),
            ("assistant", "Gut. Worauf muss ich achten?"),
            ("user", "Bitte niemals Kundendaten in die Protokolle schreiben, das ist nicht verhandelbar."),
            ("assistant", "Verstanden."),
            ("user", "Die Tabellen wollten wir erst spiegeln. Wir nehmen stattdessen die Ereignisse aus der Warteschlange."),
            ("assistant", "Dann also die Ereignisse."),
        ],
        ["niemals kundendaten in die protokolle schreiben", "stattdessen die ereignisse aus der warteschlange"],
        ("Wie ist eigentlich das Wetter bei dir?", "Magst du lieber Tee oder Kaffee?", "Was machen wir als Nächstes?"),
        (
            "Zuerst eine kurze Liste mit Zuständigen und Terminen, danach ein Probelauf auf der Testkopie.",
            "Das größte Risiko ist die Übergabe zwischen den beiden Gruppen; eine Prüfliste hilft.",
        ),
    ),
    "spanish": (
        [
            ("user", "Con Lucía estamos rehaciendo el módulo de informes."),
            ("assistant", "De acuerdo. ¿Qué debo tener en cuenta?"),
            ("user", "Nunca borres los registros de auditoría, es una línea roja."),
            ("assistant", "Entendido."),
            ("user", "Queríamos exportar a mano, pero vamos a usar la tarea programada de las 03:15."),
            ("assistant", "Entonces la tarea programada."),
        ],
        ["nunca borres los registros de auditoría", "vamos a usar la tarea programada de las 03:15"],
        ("Por cierto, ¿qué tiempo hace por ahí?", "¿Prefieres el té o el café?", "¿Qué hacemos después?"),
        (
            "Primero una lista corta de responsables y fechas, y luego un ensayo en la copia de pruebas.",
            "El mayor riesgo es el traspaso entre los dos equipos; una lista de control lo cubre casi todo.",
        ),
    ),
}


@pytest.mark.parametrize("language", OWN)
@pytest.mark.parametrize("window", [2_048, 6_000])
def test_what_the_user_ruled_and_decided_outlasts_five_compressions_in_any_language(language: str, window: int) -> None:
    turns, wanted, questions, answers = OWN[language]
    for cycle, text in enumerate(after_five_cycles(turns, asides(7, questions, answers), window), 1):
        assert not [want for want in wanted if flat(want) not in text], f"lost in cycle {cycle}"
