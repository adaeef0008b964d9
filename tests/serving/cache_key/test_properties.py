"""What holds for every server: unknown facts move the fingerprint, neutral ones do not, and keys are safe in S3."""

from functools import cache
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from infra.image_cache.reference import image_reference
from infra.instances import ARCHITECTURES
from serving.arguments import ENGINES, table
from serving.cache_key import CACHES, CacheKey, KeyedServer, cache_key, explained
from serving.cache_key.neutral import neutral
from serving.cache_key.segments import LONGEST, segment
from serving.engine import EngineSettings
from serving.model import LONGEST as LONGEST_URI
from tests.harness import stack_settings
from tests.serving.cache_key.servers import print_of, server, with_env, with_flags
from tests.serving.cache_key.values import TEXT, value_of

ARCHIVE = f"{'0' * 64}.tar"
ENGINE = st.sampled_from(ENGINES)


@cache
def plain(engine: str) -> KeyedServer:
    return server(engine={"version": engine})


@st.composite
def flags_beside(draw: st.DrawFn, engine: str) -> tuple[str, Any]:
    """A flag that stands neither on the command line nor on the neutral list, and a value that is written."""
    known, there = neutral(engine), explained(plain(engine))
    names = [
        name
        for name, argument in table(engine).items()
        if f"flag.{name}" not in known
        and f"flag.{name}" not in there
        and (argument.default is not True or argument.negative)  # else it cannot be switched off
    ]
    name = draw(st.sampled_from(sorted(names)))
    return name, draw(value_of(table(engine)[name]))


@given(ENGINE, st.data())
def test_any_flag_outside_the_neutral_list_moves_the_fingerprint(engine: str, data: st.DataObject) -> None:
    flag, value = data.draw(flags_beside(engine))
    assert print_of(with_flags(plain(engine), {flag: value})) != print_of(plain(engine))


@given(ENGINE, st.from_regex(r"[A-Z_][A-Z0-9_]{0,30}", fullmatch=True), TEXT)
def test_any_variable_outside_the_neutral_list_moves_the_fingerprint(engine: str, name: str, value: str) -> None:
    before = plain(engine)
    changed = print_of(with_env(before, **{name: value})) != print_of(before)
    assert changed is (f"env.{name}" not in neutral(engine) and before.env.get(name) != value)


@given(ENGINE, st.data())
def test_no_value_of_a_neutral_fact_moves_the_fingerprint(engine: str, data: st.DataObject) -> None:
    flags: dict[str, Any] = {}
    env: dict[str, str] = {}
    inner: dict[str, Any] = {}
    for fact in neutral(engine):
        kind, name, *key = fact.split(".")
        if kind == "env":
            env[name] = data.draw(TEXT)
        elif key:
            inner[key[0]] = data.draw(st.integers(-1, 10**12))
        else:
            flags[name] = data.draw(value_of(table(engine)[name]))
    changed = with_env(with_flags(plain(engine), {**flags, "model-loader-extra-config": inner}), **env)
    assert print_of(changed) == print_of(plain(engine))


# few letters, so that pairs come near each other, and both sides of the longest segment
NAMES = st.text("ab0_.-/:@schdx", min_size=1, max_size=8) | st.builds(
    lambda head, filler, tail: head + filler * 190 + tail,
    st.text("a_./", min_size=1, max_size=4),
    st.sampled_from(["a", "_", "/"]),
    st.text("a_h", max_size=40),
)


@given(NAMES, NAMES)
def test_two_names_never_share_a_segment(one: str, other: str) -> None:
    assert (segment(one) == segment(other)) is (one == other)


@given(NAMES)
def test_a_segment_holds_nothing_that_a_tool_could_read_as_more(name: str) -> None:
    made = segment(name)
    assert made[0].isalnum()
    assert made.isascii()
    assert set(made) <= {*"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"}
    assert ".." not in made
    assert len(made) <= LONGEST


def is_image(text: str) -> bool:
    try:
        EngineSettings.model_validate({**stack_settings("prod")["servers"]["gemma"]["engine"], "image": text})
    except ValidationError:
        return False
    return True


LABEL = "[a-z0-9]([a-z0-9-]{0,10}[a-z0-9])?"
IMAGES = st.from_regex(
    rf"(({LABEL}\.)?{LABEL}\.io(:[0-9]{{1,5}})?/)?[a-z0-9]+([._/-][a-z0-9]+){{0,3}}"
    r"(:[A-Za-z0-9_][A-Za-z0-9_.-]{0,20}|@sha256:[0-9a-f]{64})",
    fullmatch=True,
).filter(is_image)


def key_of(image: str) -> CacheKey:
    return cache_key(server(engine={"image": image}))


@given(IMAGES, IMAGES)
def test_two_images_never_share_an_engines_segment(one: str, other: str) -> None:
    same = str(image_reference(one)) == str(image_reference(other))
    assert (key_of(one).engine == key_of(other).engine) is same


def test_images_whose_parts_run_into_each_other_are_two_engines() -> None:
    """With one sign for every separator these would be one."""
    pairs = [("r.io/a/b:c", "r.io/a:b_sc"), ("r.io/a-b:c", "r.io/a:b-c"), ("r.io/a:1.2", "r.io/a:1_d2")]
    for one, other in pairs:
        assert key_of(one).folder != key_of(other).folder


def test_the_longest_names_make_keys_that_s3_takes() -> None:
    host, path = ".".join(["h" * 63] * 3), "/".join(["p_q" * 21] * 4)[:254] + "p"
    image = f"{host}:65535/{path}:{'t..' * 42}t"
    beginning = "s3://" + "b" * 63 + "/models/"
    uri = beginning + "m/" + "_.._" * ((LONGEST_URI - len(beginning) - 3) // 4) + "/"
    longest = server(engine={"image": image}, model={"uri": uri})
    for prefix in cache_key(longest).prefixes:
        key = f"{prefix}{ARCHIVE}"
        assert len(key.encode()) < 1024
        assert key.isascii()
        assert ".." not in key
        assert "//" not in key
        assert key.startswith(CACHES)
        assert key.count("/") == 5
    assert max(len(product) for product in ARCHITECTURES) < LONGEST
