"""Secrets do not leave the conversation, and what is no secret stays as it is."""

from __future__ import annotations

import string
import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hermes_tui.context.redaction import SENTINEL, redact, redact_json

ALNUM = string.ascii_letters + string.digits
LOWER = string.ascii_lowercase + string.digits


def _of(alphabet: str, least: int, most: int = 48) -> st.SearchStrategy[str]:
    return st.text(alphabet, min_size=least, max_size=most)


KEYS = st.one_of(
    _of(ALNUM + "-_", 24).map("sk-ant-api03-".__add__),
    _of(ALNUM, 24).map(lambda s: "sk-proj-1" + s),
    _of(ALNUM, 36, 36).map("ghp_".__add__),
    _of(ALNUM + "_", 30).map("github_pat_".__add__),
    _of(string.ascii_uppercase + string.digits, 16, 16).map("AKIA".__add__),
    _of(ALNUM, 16).map("tvly-".__add__),
    _of(string.digits, 10, 12).map(lambda s: f"xoxb-{s}-{s}abc"),
    _of(ALNUM + "-_", 35, 35).map("AIza".__add__),
    _of(ALNUM, 24).map("sk_live_".__add__),
    _of(ALNUM, 20).map(lambda s: f"eyJ{s}.eyJ{s[::-1]}.{s}"),
    _of(ALNUM, 60, 60).map("sk-ant-admin01-".__add__),
    _of(LOWER, 32, 32).map(lambda s: f"AC1{s[:31]}"),
    _of(LOWER, 31, 31).map(lambda s: f"7{s}-us14"),
    _of(ALNUM, 42, 42).map("sq0csp-1".__add__),
    _of(ALNUM, 24, 24).map("gldt-1".__add__),
    _of(ALNUM, 39, 39).map("gloas-1".__add__).map(lambda s: s + "x" * 24),
    _of(ALNUM, 85, 85).map(lambda s: f"AccountKey=1{s}=="),
    _of(ALNUM, 22, 22).map(lambda s: f"M1{s}.{s[:6]}.{s}{s[:5]}"),
    _of(ALNUM, 34, 34).map("123456789:1".__add__),
    _of(ALNUM, 22, 22).map(lambda s: f"SG.{s}.{s}{s[:21]}"),
    _of(string.ascii_uppercase + string.digits, 16, 16).map("ABIA".__add__),
    _of(ALNUM, 36, 36).map("npm_".__add__),
    _of(ALNUM, 72, 72).map("pypi-AgEIcHlwaS5vcmc".__add__),
)
HEX = "0123456789abcdef"
LESS_KNOWN = st.one_of(
    _of(HEX, 32, 32).map("dapi".__add__),
    _of(HEX, 32, 32).map("shpat_".__add__),
    _of(HEX, 64, 64).map(lambda s: f"pat{s[:14]}.{s}"),
    _of(ALNUM, 27, 27).map("dckr_pat_".__add__),
    _of(string.ascii_uppercase + string.digits, 27, 27).map("NRAK-".__add__),
    _of(HEX, 40, 40).map("sbp_".__add__),
    _of(ALNUM, 46, 46).map("ntn_".__add__),
    _of(ALNUM, 40, 40).map("glsa_".__add__),
    _of(ALNUM, 43, 43).map("dp.pt.".__add__),
    _of(HEX, 34, 34).map(lambda s: f"PMAK-{s[:24]}-{s}"),
    _of(HEX, 64, 64).map("sk-or-v1-1".__add__),
)
NAMES = st.sampled_from(
    ["password", "secret", "token", "api_key", "api-key", "passwd", "client_secret", "access_token", "DB_PASSWORD"]
)
CASES = st.sampled_from([str.lower, str.upper, str.title])
VALUES = st.builds(lambda a, b: a + "7" + b, _of(ALNUM, 4, 20), _of(ALNUM, 4, 20))
FORMS = st.sampled_from(
    [
        "{n}={v}",
        '{n} = "{v}"',
        "{n}: {v}",
        '"{n}": "{v}"',
        "--{n} {v}",
        "export {n}='{v}'",
        "{n} := {v}",
        '\\"{n}\\": \\"{v}\\"',
    ]
)


@given(KEYS, st.text(max_size=30), st.sampled_from([" ", "\n", '"', "=", "(", ": "]))
def test_keys_of_known_shapes_are_taken_out_wherever_they_stand(key: str, around: str, edge: str) -> None:
    assert key not in redact(f"{around}{edge}{key}{edge}{around}")


@given(LESS_KNOWN, st.sampled_from([" {} ", '"{}"', "/etc/{}/x", '"a\\n{}\\n"', "`{}`", "k={}"]))
def test_keys_of_smaller_services_are_taken_out_in_paths_and_json_too(key: str, form: str) -> None:
    assert key not in redact(form.format(key))


@given(NAMES, CASES, VALUES, FORMS)
def test_values_named_as_secrets_are_taken_out_in_any_case(name, case, value, form) -> None:
    text = form.format(n=case(name), v=value)
    assert value not in redact(f"before\n{text}\nafter")


@given(st.sampled_from(["password", "Password", "PASSWORD", "passphrase"]), st.sampled_from(["is", "was", "IS", "is:"]), VALUES)
def test_a_password_told_in_a_sentence_is_taken_out(name, verb, value) -> None:
    assert value not in redact(f"My {name} {verb} {value}, please remember it.")


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("Authorization: Bearer abcdef123456789", "abcdef123456789"),
        ("curl -H 'authorization: bearer AbCdEfGh12'", "AbCdEfGh12"),
        ("aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "wJalrXUtnFEMI"),
        ("postgres://bob:s3cret@db/prod", "s3cret"),
        ("-----BEGIN RSA PRIVATE KEY-----\nMIIabc\nxyz\n-----END RSA PRIVATE KEY-----", "MIIabc"),
        ("-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXk", "b3BlbnNzaC1rZXk"),
        ("das Passwort ist geheim", "geheim"),
        ("la contraseña es secreta1", "secreta1"),
        ("密码是abc123", "abc123"),
        ("set the password to hunter2", "hunter2"),
        ("the value Xk9Lm2Pq8Rt5Vw1Yz4Bc7Df came back", "Xk9Lm2Pq8Rt5Vw1Yz4Bc7Df"),
        ("パスワードはabc123です", "abc123"),
        ("пароль: qwerty12", "qwerty12"),
        ("비밀번호는 abc1234", "abc1234"),
        ("mot de passe : azerty12", "azerty12"),
        ("<password>hunter2</password>", "hunter2"),
        ("machine example.org login bob password hun.ter", "hun.ter"),
        ("curl -s -u bob:hunter22 https://example.org", "hunter22"),
        ("mysql -u root -psecret99 shop", "secret99"),
        ("sshpass -p hunter2 ssh host", "hunter2"),
        ("Set-Cookie: session=9f8a7b6c5d4e3f2a1b0c9d8e7f6a5b4c; Path=/", "9f8a7b6c5d4e3f2a"),
        ('password="hunter2', "hunter2"),
        ('password="hunter2 … 900 characters left out', "hunter2"),
    ],
)
def test_other_ways_in_which_secrets_are_told(text: str, secret: str) -> None:
    assert secret not in redact(text)
    assert SENTINEL.search(redact(text))


@pytest.mark.parametrize(
    "text",
    [
        "83378aad7e74a0e2bb8f37c007a9685fb4609d8a",
        "550e8400-e29b-41d4-a716-446655440000",
        "packages/coding-agent/src/theme/theme.ts",
        "pi-session-2025-12-08T23-22-21-320Z_0db2eb3b-5ed8-4b70-88c6-a3f7104eb251.html",
        "getThinkingBorderColorForLevel2",
        "toolu_01WuL7wXYE2pFBxf9HwRvBYq",
        "max_tokens=8192, tokens: 4096, cache_read_input_tokens: 123456",
        "const token = await getToken()",
        "apiKey: process.env.API_KEY",
        "def login(password: str, token: Token) -> None:",
        "api_key=api_key, token=accessToken",
        "if token == expected:",
        "the password is required",
        "monkey=banana keyboard: us primary key: id",
        "passes: 14, pass: 12, fail: 3",
        "sha512-AbCd1234EfGh5678IjKl9012MnOp==",
        'pwd = "/home/user/project"',
        "bearer token authentication",
    ],
)
def test_hashes_ids_paths_and_code_are_left_alone(text: str) -> None:
    assert redact(text) == text


@given(NAMES, VALUES)
def test_what_stands_under_a_name_in_a_calls_arguments_is_judged_by_it(name, value) -> None:
    arguments = {"url": "https://example.org/a", "form": [{name: value}], "n": 3}
    clean = redact_json(arguments)
    assert value not in str(clean)
    assert (clean["url"], clean["n"], list(clean["form"][0])) == ("https://example.org/a", 3, [name])
    assert redact_json(clean) == clean


@given(
    KEYS.filter(lambda key: not key.endswith("=")),
    st.lists(st.sampled_from(["read", "the", "file", "src/app.py", "exit code 1", "\n"]), max_size=8),
)
def test_only_the_secret_goes_and_all_around_it_stays(key, words) -> None:
    around = " ".join(words)
    assert redact(f"{around} {key} {around}").split(SENTINEL.search(redact(key))[0]) == redact(f"{around} \0 {around}").split(
        "\0"
    )


@given(st.text(max_size=200))
@example("İ password: 1a2b3c4d")
def test_redacting_twice_changes_nothing_more(text: str) -> None:
    once = redact(text)
    assert redact(once) == once


@pytest.mark.parametrize(
    "piece",
    [
        "a",
        "Ab1/",
        "password ",
        "key=",
        "sk-",
        "://a:",
        "eyJ",
        "eyJa.",
        "-----BEGIN PRIVATE KEY-----",
        "key      ",
        "//",
        "xoxb-1-",
        "AC",
        "us1-",
    ],
)
def test_long_texts_take_time_in_proportion(piece: str) -> None:
    def seconds(size: int) -> float:
        text = piece * (size // len(piece))
        spent = []
        for _ in range(3):
            started = time.process_time()
            redact(text)
            spent.append(time.process_time() - started)
        return min(spent)

    assert seconds(80_000) < 12 * max(seconds(20_000), 0.002)
