"""Names as segments of a key: the spellings that stand in buckets, which may never change."""

import pytest

from serving.cache_key.segments import segment


@pytest.mark.parametrize(
    ("name", "made"),
    [
        ("docker.io/vllm/vllm-openai:v0.26.0", "docker.io_svllm_svllm-openai_cv0.26.0"),
        ("r.io:5000/a_b@sha256:00", "r.io_c5000_sa__b_asha256_c00"),
        ("rtx-pro-server-6000", "rtx-pro-server-6000"),
        ("gemma/r1..2", "gemma_sr1._d2"),
        ("a...b", "a._d_db"),
        ("_hidden/-x", "0_x__hidden_s-x"),
        (".x", "0_x.x"),
        ("a" * 200, "a" * 200),
        ("a" * 201, "a" * 166 + "_ha92efd82109373e58f9a2056dee01e80"),
        ("/" * 150, "0_x" + "_s" * 81 + "_h077311dda558bf008cbb8ea050bca0f0"),
    ],
)
def test_a_segment_is_spelled_for_ever_as_it_is_here(name: str, made: str) -> None:
    assert segment(name) == made


@pytest.mark.parametrize("sign", ["*", "?", "$", " ", "%", "\\", "ä", "\n", "\0", "+", "~", "²"])
def test_a_sign_that_no_name_may_have_is_refused(sign: str) -> None:
    with pytest.raises(ValueError, match="a character that no segment of a key may have") as refused:
        segment(f"a{sign}b")
    assert str(refused.value).isprintable()


def test_an_empty_name_is_refused() -> None:
    with pytest.raises(ValueError, match="an empty name is no segment of a key"):
        segment("")
