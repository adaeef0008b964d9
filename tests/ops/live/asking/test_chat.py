"""What a stream says, and whether it is an answer. Chunks are as vLLM 0.26 and 0.33 write them."""

import json

import pytest

from ops.failures import RefusedError, UnclearError
from ops.live.chat import Answer, events, garbage, refusal, request


def chunk(text=None, *, finish=None, key="content"):
    return {"choices": [{"index": 0, "delta": {} if text is None else {key: text}, "finish_reason": finish}]}


def taken(*chunks, cut=""):
    answer = Answer(cut=cut)
    for each in chunks:
        answer.take(each)
    return answer


USAGE = {"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 3}}


def test_the_request_is_a_stream_that_ends_with_the_count_of_tokens():
    assert json.loads(request("m", 'say "ä"', 7)) == {
        "model": "m",
        "messages": [{"role": "user", "content": 'say "ä"'}],
        "max_tokens": 7,
        "stream": True,
        "stream_options": {"include_usage": True},
    }


def test_a_stream_is_read_up_to_its_end_and_no_further():
    lines = [
        b": ping\n",
        b"\n",
        b'data: {"a": 1}\r\n',
        b"event: x\n",
        b'data:{"b": 2}\n',
        b"data: [DONE]\n",
        b"data: 3\n",
    ]
    assert list(events(lines)) == [{"a": 1}, {"b": 2}, {}]


@pytest.mark.parametrize("line", [b"data: {half", b"data: [1]", b"data: "])
def test_what_is_no_chunk_is_an_error_of_the_stream(line):
    (found,) = events([line])
    assert found["error"]["message"].startswith("no JSON: ")


def test_an_answer_is_text_reasoning_and_figures():
    answer = taken(
        chunk(""),
        chunk("I ", key="reasoning"),
        chunk("think", key="reasoning_content"),
        chunk("Yes."),
        chunk(finish="stop"),
        USAGE,
    )
    assert (answer.reasoning, answer.text, answer.finish, answer.tokens) == ("I think", "Yes.", "stop", 3)
    assert answer.fault() == ""


def test_each_chunk_gives_its_own_text_whatever_kind_it_is():
    answer = Answer()
    chunks = [chunk(""), chunk("a", key="reasoning"), chunk("b"), chunk(finish="stop"), {}]
    assert [answer.take(each) for each in chunks] == ["", "a", "b", "", ""]


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (taken(chunk("x"), chunk(finish="length")), ""),
        (taken(chunk("thinking", key="reasoning"), chunk(finish="length")), ""),
        (
            taken(chunk("x"), {"error": {"message": "CUDA error:\n illegal access"}}),
            "the engine broke off with an error: CUDA error: illegal access",
        ),
        (
            taken(chunk("Hel"), chunk("lo")),
            "the answer stops half way, after 5 characters: the stream ended without a finish_reason",
        ),
        (
            taken(chunk("Hello"), cut="the connection was cut"),
            "the answer stops half way, after 5 characters: the connection was cut",
        ),
        (
            taken(chunk("Hello"), chunk(finish="abort")),
            "the engine ended the answer with finish_reason abort, after 5 characters: it was put to sleep or stopped"
            " in the middle, or failed",
        ),
        (taken(chunk(""), chunk(finish="stop")), "the answer is empty: finish_reason stop, 0 tokens"),
        (taken(chunk(" \n"), chunk(finish="stop"), USAGE), "the answer is empty: finish_reason stop, 3 tokens"),
        (
            taken(*[chunk("!")] * 9, chunk(finish="length")),
            "the answer is garbage, nothing but !: the weights are not what they were (a sleep of level 2, a broken"
            " load); restart the pod",
        ),
    ],
    ids=["cut at max tokens", "thoughts alone", "error", "no end", "cut", "abort", "empty", "blank", "garbage"],
)
def test_what_is_no_answer_is_a_sentence(answer, said):
    assert answer.fault() == said


@pytest.mark.parametrize(
    ("text", "sign"),
    [
        ("!!!!!", "!"),
        ("! ! ! ! !\n", "!"),
        ("\ufffd" * 8, "\ufffd"),
        ("!!!!", ""),
        ("!!!!!?", ""),
        ("aaaaaa", ""),
        ("1111111", ""),
        ("", ""),
    ],
)
def test_garbage_is_one_sign_over_and_over(text, sign):
    assert garbage(text) == sign


NO_SUCH = '{"error": {"message": "The model `x` does not exist.", "type": "NotFoundError", "code": 404}}'


@pytest.mark.parametrize(
    ("status", "later", "body", "shown", "kind", "said"),
    [
        (
            401,
            None,
            '{"error": {"message": "A valid bearer token is required."}}',
            "",
            UnclearError,
            "t: 401: A valid bearer token is required (no token was shown)",
        ),
        (
            401,
            None,
            '{"error": {"message": "A valid bearer token is required."}}',
            "Secret a/b",
            UnclearError,
            "t: 401: A valid bearer token is required (the token of Secret a/b is none of those that it takes)",
        ),
        (
            404,
            None,
            NO_SUCH,
            "",
            RefusedError,
            "t: 404: The model `x` does not exist; the name is model.servedName of the stack file: pulumi up, if that"
            " is newer",
        ),
        (
            503,
            "10",
            '{"error": {"message": "starting"}}',
            "",
            UnclearError,
            "t: 503: starting; it may be asked again in 10 s",
        ),
        (503, None, "", "", UnclearError, "t: 503: no reason is given"),
        (429, "1", "slow down", "", UnclearError, "t: 429: slow down; it may be asked again in 1 s"),
        (400, None, '{"object": "error", "message": "too\\nlong"}', "", RefusedError, "t: 400: too long"),
        (500, None, "<html>oops</html>", "", RefusedError, "t: 500: <html>oops</html>"),
        (502, "5", '{"error": "gone"}', "", RefusedError, "t: 502: gone"),
        (500, None, "[1]", "", RefusedError, "t: 500: [1]"),
    ],
)
def test_a_refusal_is_told_from_not_now(status, later, body, shown, kind, said):
    found = refusal("t", status, later, body, shown=shown)
    assert (type(found), str(found)) == (kind, said)


@pytest.mark.parametrize(
    "strange",
    [
        {"choices": [1]},
        {"choices": 1},
        {"choices": [{"delta": "x"}]},
        {"choices": [{"delta": {"content": 1}}]},
        {"usage": 1},
        {"usage": {}, "choices": [7]},
        {"usage": {"completion_tokens": "x"}},
    ],
    ids=str,
)
def test_a_chunk_of_another_form_is_a_fault_of_the_answer(strange):
    answer = taken(chunk("x"), strange, chunk(finish="stop"))
    assert answer.fault() == f"the engine broke off with an error: no chunk: {json.dumps(strange)}"


def test_what_an_error_says_moves_no_cursor():
    assert str(refusal("s", 500, None, '{"error": {"message": "a\\u001b[2Jb"}}', shown="")) == r"s: 500: a\x1b[2Jb"
