"""How statements about oneself begin, and rules set for good: in English, German, Spanish and Chinese, one table a language.

Matched at the start of a sentence, in any case. What such sentences must not hold is told in ``extraction``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from hermes_tui.context.notes import NoteKind


@dataclass(frozen=True, slots=True)
class Opening:
    """How a kind of statement begins.

    Attributes:
        pattern: matched at the start of a sentence.
        kind: what the statement is.
        slot: what it is about, where a later statement takes its place ("name"); "" where its own words say it.
        clause: only its first clause is taken: what follows a comma is about something else.
        asked: the user asked for it to be remembered: taken whatever it speaks of.
    """

    pattern: re.Pattern[str]
    kind: NoteKind
    slot: str = ""
    clause: bool = False
    asked: bool = False


def _opens(kind: NoteKind, pattern: str, slot: str = "", *, clause: bool = False, asked: bool = False) -> Opening:
    return Opening(re.compile(pattern, re.I), kind, slot, clause, asked)


_DO: Final = (
    r"(?:answer|reply|respond|use|write|speak|talk|call|address|explain|show|give|add|include|cite|ask|start|begin|end|finish|format"
    r"|put|prefer|keep|test|commit|run|check|tell|provide|translate|summari[sz]e|be|assume|name|quote|mention|wrap|indent|sort|say"
    r"|apologi[sz]e|suggest|guess|invent|make|push|send|delete|remove|install|leave|skip)\b"
)
_TU: Final = (
    r"(?:antworte|schreib|nutz|benutz|verwend|nimm|erklär|sprich|red|duz|siez|formatier|zeig|gib|nenn|frag|füg|mach|lass|sag|kürz)"
    r"\w*"
)
_HAZ: Final = (
    r"(?:responde|contesta|usa|utiliza|escribe|habla|explica|pon|incluye|da|muestra|llama|pregunta|haz|di|añade|tutea)\w*"
)
OPENINGS: Final = (
    # English
    _opens("fact", r"my name(?:['’]s| is) (?!not\b)", "name", clause=True),
    _opens("fact", r"(?:you can |just )?call me (?!back|when|if|out|on\b|at\b|crazy|paranoid|old)", "name", clause=True),
    _opens(
        "fact",
        r"i(?:['’]m| am) an? (?!bit|little|tad|lot|few|couple|while|step|point|loss|helpful|huge|big|user|an?\b)"
        r"(?!.*\b(?:assistant|bot|language model|ai)\b)",
        clause=True,
    ),
    _opens(
        "fact",
        r"i(?:['’]m| am) (?:from|based in|allergic to|vegetarian|vegan|left-handed|right-handed|colou?r-?blind|dyslexic|deaf"
        r"|blind|hard of hearing|retired|bilingual|diabetic|(?:lactose|gluten)[- ]intolerant|c(?:o)?eliac|\d{1,3} years old"
        r"|not a (?:native|programmer|developer))\b",
        clause=True,
    ),
    _opens("fact", r"i live in\b", "place", clause=True),
    _opens("fact", r"i work (?:as|at|for|in) (?!the moment|it\b|progress|hours|days|weeks|months|years|\d)", clause=True),
    _opens("fact", r"i (?:speak|study|teach) (?!of\b|to\b|about\b)", clause=True),
    _opens(
        "fact",
        r"my (?:native language|mother tongue|first language|time ?zone|pronouns|birthday|profession|nickname"
        r"|favou?rite [\w ]{3,24}|preferred [\w ]{3,24}) (?:is|are)\b",
        clause=True,
    ),
    _opens(
        "fact",
        r"my (?:wife|husband|partner|daughter|son|child|mother|father|sister|brother|dog|cat|boss|team|company)"
        r"(?:['’]s name is| is (?:called|named))\b",
        clause=True,
    ),
    _opens(
        "fact",
        r"i (?:really |strongly |generally |usually |always |much )?prefer (?!to (?:see|have|keep|wait|do|go)\b"
        r"|the\b|it\b|your\b|not\b|option\b|[a-d]\b|\d)",
    ),
    _opens("fact", r"i (?:always|never|usually|mostly|only) (?:use|write|code|work|eat|drink|commit|speak|type|read)\b"),
    _opens("rule", r"i (?:hate|love|like|don['’]t like|do not like) it when you\b"),
    _opens(
        "rule",
        r"(?:from now on|from here on|from this (?:point|day) on(?:ward)?|going forward|as a (?:general |standing )?rule"
        r"|in (?:all |every )?(?:the )?future(?: conversations?| chats?| sessions?| answers?| replies)?(?=,)"
        r"|in (?:all|every) (?:conversations?|chats?|sessions?|answers?|repl(?:y|ies)))(?!\w)",
    ),
    _opens(
        "rule", r".{8,160}\b(?:from now on|in (?:all|every) (?:future )?(?:conversations?|chats?|answers?|repl(?:y|ies)))\W*$"
    ),
    _opens("rule", rf"(?:you (?:must|should|have to|can) )?always {_DO}"),
    _opens("rule", rf"(?:you (?:must|should) )?(?:never(?: ever)?|don['’]t ever|do not ever) {_DO}"),
    _opens("rule", r"(?:don['’]t|do not|stop) .{4,120}\b(?:any ?more|ever again)\W*$"),
    _opens("fact", r"(?:remember|please remember|you should remember) that\b|remember:", asked=True),
    # German
    _opens(
        "fact",
        r"(?:ich hei(?:ß|ss)e|mein name ist|nenn(?:e)? mich|du kannst mich) (?!nicht|das\b|es\b|ihn\b|sie\b|alles\b)",
        "name",
        clause=True,
    ),
    _opens("fact", r"ich bin eine? (?!bisschen|wenig|paar|stück)(?!.*\b(?:assistent|ki|bot)\b)", clause=True),
    _opens(
        "fact",
        r"ich bin (?:aus|vegetarier(?:in)?|veganer(?:in)?|vegan|vegetarisch|allergisch|linkshänder(?:in)?|farbenblind|gehörlos"
        r"|blind|von beruf|\d{1,3} jahre|(?-i:[A-ZÄÖÜ][a-zäöüß]+(?:in|er|ist|eur|or|ent|ant|arzt|ärztin|mann|frau)))\b",
        clause=True,
    ),
    _opens("fact", r"ich (?:wohne|lebe) in\b", "place", clause=True),
    _opens("fact", r"ich arbeite (?:als|bei|für)\b", clause=True),
    _opens("fact", r"meine? (?:muttersprache|zeitzone|beruf|geburtstag|pronomen|lieblings\w+) (?:ist|sind)\b", clause=True),
    _opens("fact", r"ich (?:bevorzuge|benutze immer|verwende immer|nutze immer|schreibe immer)\b|ich ziehe .{3,80} vor\W*$"),
    _opens(
        "rule",
        r"(?:ab jetzt|ab sofort|von nun an|von jetzt an|in zukunft|künftig|zukünftig|grundsätzlich)\b"
        r"|.{8,160}\b(?:ab jetzt|ab sofort|von nun an|in zukunft)\W*$",
    ),
    _opens(
        "rule",
        rf"immer {_TU}|{_TU}(?: \w+){{0,2}} immer\b"
        r"|immer (?!wenn|noch|wieder|mehr|öfter|weniger|beim?\b).{3,120}\w+(?:en|ern|eln)\W*$",
    ),
    _opens(
        "rule", rf"{_TU}(?: \w+){{0,2}} (?:nie|niemals|nie wieder|nie mehr)\b|(?:nie|niemals) .{{3,120}}\w+(?:en|ern|eln)\W*$"
    ),
    _opens("fact", r"(?:merk(?:e)? dir|denk(?:e)? daran|vergiss nicht)(?: bitte)?(?:,? dass\b|:)", asked=True),
    # Spanish
    _opens("fact", r"(?:me llamo|mi nombre es|llámame|puedes llamarme)\b", "name", clause=True),
    _opens(
        "fact",
        r"(?:yo )?soy (?:una?\b(?! poco)(?!.*\b(?:asistente|bot|ia)\b)|de\b|vegetarian[oa]\b|vegan[oa]\b|alérgic[oa]\b"
        r"|zurd[oa]\b|daltónic[oa]\b|celíac[oa]\b|(?:ingenier|médic|profesor|estudiant|desarrollador|programador|abogad|enfermer|diseñador"
        r"|maestr)\w*)",
        clause=True,
    ),
    _opens("fact", r"vivo en\b", "place", clause=True),
    _opens("fact", r"trabajo (?:como|en|para)\b", clause=True),
    _opens("fact", r"mi (?:idioma (?:materno|nativo)|lengua materna|zona horaria|profesión|cumpleaños) es\b", clause=True),
    _opens("fact", r"prefiero (?!que\b|el\b|la\b|los\b|las\b)|(?:yo )?siempre (?:uso|escribo|trabajo)\b"),
    _opens(
        "rule",
        r"(?:a partir de ahora|de ahora en adelante|desde ahora|en adelante|en el futuro,)"
        r"|.{8,160}\b(?:a partir de ahora|de ahora en adelante|en adelante)\W*$",
    ),
    _opens("rule", rf"siempre {_HAZ}\b|{_HAZ}(?: \w+)? siempre\b"),
    _opens(
        "rule", r"nunca (?:me )?(?:uses|utilices|escribas|respondas|contestes|digas|pongas|hagas|borres|llames|pidas|añadas)\b"
    ),
    _opens("rule", r"no vuelvas a\b"),
    _opens("fact", r"(?:recuerda|acuérdate de|no olvides) que\b|recuerda:", asked=True),
    # Chinese
    _opens("fact", r"我(?:的名字)?叫(?!你|他|她|它)|我的名字[是叫]|叫我(?!做|去|来|写|干|帮|怎)|我姓", "name", clause=True),
    _opens(
        "fact",
        r"我是(?:一)?[名个位](?!.*(?:助手|模型|机器人))|我是(?:素食|左撇子|色盲|退休)|我来自|我对.{1,12}过敏",
        clause=True,
    ),
    _opens("fact", r"我(?:现在)?住在", "place", clause=True),
    _opens("fact", r"我在[^，。,]{1,20}(?:工作|上班|上学|读书|教书)|我的(?:母语|时区|职业|生日|爱好)是", clause=True),
    _opens("fact", r"我(?:更|比较|一般|通常|平时|一直)?(?:喜欢|偏好|习惯)(?!你|他|她|吗|了|的[是话])"),
    _opens(
        "rule",
        r"(?:从(?:现在|今|此|今天)(?:起|开始|以后|之后)|今后|往后|以后(?:都|请|不要|别|回答|一律|用.{1,12}(?:回答|回复|写|说)))",
    ),
    _opens("rule", r"(?:请)?(?:你)?(?:要)?(?:始终|总是|永远|一直|一律|每次都)(?:要|用|使用|以|请|不要|别|回答|给|写|说)"),
    _opens("rule", r"(?:请)?(?:绝对|永远|以后)?(?:不要|别)再(?:用|使用|说|写|给|问|道歉|加)"),
    _opens("fact", r"(?:请)?(?:你)?(?:要)?(?:记住|记得)(?!了|吗|上次|之前|以前|你说|我们)[：:，,]?(?=.{3})", asked=True),
)
