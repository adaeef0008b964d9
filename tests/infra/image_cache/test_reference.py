"""Image references: one grammar, full spellings, one line for what is none."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infra.image_cache.reference import DOCKER_HUB, LONGEST_PATH, ImageReference, image_reference
from infra.image_cache.rewrite import ImageCacheFacts, rewritten
from infra.image_cache.upstreams import UPSTREAMS

DIGEST = f"sha256:{'0a' * 32}"
EXPECTED = "expected an image reference, [registry/]path[:tag][@sha256:digest]"

word = st.from_regex(r"[a-z0-9]{1,8}", fullmatch=True)
components = st.builds(
    lambda first, rest: first + "".join(f"{sign}{part}" for sign, part in rest),
    word,
    st.lists(st.tuples(st.sampled_from([".", "_", "__", "-", "---"]), word), max_size=3),
)
paths = st.lists(components, min_size=1, max_size=4).map("/".join)
# in front of a slash a dot makes a host, which no longer path follows
hub_paths = paths.filter(lambda path: "/" not in path or "." not in path.partition("/")[0])
tags = st.from_regex(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,20}", fullmatch=True)
digests = st.from_regex(r"sha256:[0-9a-f]{64}", fullmatch=True)
hosts = st.one_of(
    st.sampled_from([upstream.registry for upstream in UPSTREAMS.values()]),
    st.sampled_from(["localhost", "localhost:5000", "nvcr.io", "r:80", "000000000000.dkr.ecr.us-west-2.amazonaws.com"]),
    st.from_regex(r"[a-z][a-z0-9-]{0,8}[a-z0-9](\.[a-z]{2,5}){1,2}(:[0-9]{1,5})?", fullmatch=True),
)
references = st.builds(
    lambda name, tag, digest: name + (f":{tag}" if tag else "") + (f"@{digest}" if digest else ""),
    st.one_of(hub_paths, st.builds("{}/{}".format, hosts, paths)),
    st.one_of(st.none(), tags),
    st.one_of(st.none(), digests),
)
upstreams = st.lists(st.sampled_from(list(UPSTREAMS)), unique=True).map(tuple)


def facts(cached: tuple[str, ...]) -> ImageCacheFacts:
    return ImageCacheFacts(
        registry="000000000000.dkr.ecr.us-west-2.amazonaws.com", prefix="a-stack", upstreams=cached, repositories=()
    )


@given(references)
def test_a_reference_survives_its_own_full_spelling(text: str) -> None:
    reference = image_reference(text)
    assert image_reference(str(reference)) == reference
    assert str(image_reference(str(reference))) == str(reference)


@given(references)
def test_tag_and_digest_are_those_that_were_written(text: str) -> None:
    reference = image_reference(text)
    assert text.endswith(
        ("" if reference.tag is None else f":{reference.tag}") + (f"@{reference.digest}" * bool(reference.digest))
    )
    assert (reference.digest is None) == ("@" not in text)


@given(references, upstreams)
def test_rewriting_twice_is_rewriting_once(text: str, cached: tuple[str, ...]) -> None:
    once = rewritten(text, facts(cached))
    assert rewritten(once, facts(cached)) == once


@given(references, upstreams)
def test_a_rewritten_reference_is_the_same_image_below_a_prefix(text: str, cached: tuple[str, ...]) -> None:
    before, result = image_reference(text), rewritten(text, facts(cached))
    after = image_reference(result)
    if result == text:
        refused_by_ecr = re.search("--|__", before.path)
        assert before.digest is not None or before.registry not in facts(cached).prefixes or refused_by_ecr
        return
    assert before.digest is None
    assert (after.registry, after.tag, after.digest) == (facts(cached).registry, before.tag, None)
    assert after.path == f"{facts(cached).prefixes[before.registry]}/{before.path}"


@given(st.text(max_size=300))
def test_any_text_is_a_reference_or_refused_in_one_line(text: str) -> None:
    try:
        reference = image_reference(text)
    except ValueError as refusal:
        problem = str(refusal)
        assert problem.endswith(EXPECTED)
        assert problem.isprintable()
    else:
        assert image_reference(str(reference)) == reference


@pytest.mark.parametrize(
    ("text", "registry", "path", "tag", "digest"),
    [
        ("nginx", DOCKER_HUB, "library/nginx", None, None),
        ("vllm/vllm-openai:v0.33.0", DOCKER_HUB, "vllm/vllm-openai", "v0.33.0", None),
        (f"nginx:1@{DIGEST}", DOCKER_HUB, "library/nginx", "1", DIGEST),
        ("localhost/x", "localhost", "x", None, None),
        ("localhost:5000/x:5000", "localhost:5000", "x", "5000", None),
        ("index.docker.io/nginx", DOCKER_HUB, "library/nginx", None, None),
        ("quay.io/a/b:1", "quay.io", "a/b", "1", None),
    ],
)
def test_the_parts_of_a_reference(text: str, registry: str, path: str, tag: str | None, digest: str | None) -> None:
    assert image_reference(text) == ImageReference(registry=registry, path=path, tag=tag, digest=digest)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "has no repository path"),
        (":1", "has no repository path"),
        ("quay.io/", "has no repository path"),
        ("/x", "has no repository path"),
        ("a//b", "has no repository path"),
        ("a/-b", "has no repository path"),
        ("a..b", "has no repository path"),
        ("a___b", "has no repository path"),
        ("$(id)", "has no repository path"),
        ("x:y:z", "has no repository path"),
        ("https://quay.io/a/b:1", "starts with a scheme"),
        ("docker://nginx", "starts with a scheme"),
        ("vllm/VLLM:1", "has capital letters before the tag"),
        ("Quay.io/a:1", "has capital letters before the tag"),
        ("nginx :1", "holds white space"),
        ("nginx\n", "holds white space"),
        ("-x.io/a", "has no host name before its first slash"),
        ("a_b.io/a", "has no host name before its first slash"),
        ("[::1]:5000/a", "has no host name before its first slash"),
        ("quay.io:/a", "has no host name before its first slash"),
        ("nginx:", "has a malformed tag"),
        ("nginx:-1", "has a malformed tag"),
        (f"nginx:{'1' * 129}", "has a malformed tag"),
        ("nginx@", "has a malformed digest"),
        ("nginx@sha256:12", "has a malformed digest"),
        (f"nginx@{DIGEST.upper()}", "has a malformed digest"),
        (f"nginx@{DIGEST}@{DIGEST}", "has a malformed digest"),
        ("0a" * 32, "is a bare image ID"),
        ("a" * (LONGEST_PATH + 1), f"has a path of {LONGEST_PATH + 1 + len('library/')} characters > {LONGEST_PATH}"),
    ],
)
def test_what_is_no_reference_is_refused_in_one_line(text: str, problem: str) -> None:
    with pytest.raises(ValueError) as refusal:  # noqa: PT011 - the whole message follows
        image_reference(text)
    assert str(refusal.value) == f"{problem}; {EXPECTED}"
