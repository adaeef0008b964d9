"""One streamed chat request: what is asked, what comes back piece by piece, and whether that is an answer.

Streams are as vLLM 0.26 and 0.33 make them: server-sent events, each a chunk of the chat completion, then `[DONE]`.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ops.failures import Failure, RefusedError, UnclearError
from ops.terminal import echo, plain

PATH = "/v1/chat/completions"

_REPEATED = 5
"""Signs that are all the same before they count as garbage: a zeroed model says `!`, its token 0, for ever."""

_LATER = frozenset({429, 503})
_UNAUTHORIZED, _FORBIDDEN, _NOT_FOUND = 401, 403, 404

_REASONING = ("reasoning", "reasoning_content")
"""Of a chunk's delta: 0.33 and 0.26 name it so."""


def request(model: str, prompt: str, max_tokens: int) -> bytes:
    """Return the body that asks `model` for at most so many tokens, and for the count of them in the end."""
    body = {
        "model": model,
        "messages": [{"role": "user", "content": prompt}],
        "max_tokens": max_tokens,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    return json.dumps(body).encode()


def events(lines: Iterable[bytes]) -> Iterator[Mapping[str, Any]]:
    """Yield the chunks of a stream, up to `[DONE]`, which is yielded as an empty one. Other lines are passed over."""
    for line in lines:
        kind, _, data = line.strip().partition(b":")
        if kind != b"data":
            continue
        if data.strip() == b"[DONE]":
            yield {}
            return
        try:
            chunk = json.loads(data)
        except ValueError:
            chunk = None
        yield chunk if isinstance(chunk, dict) else {"error": {"message": f"no JSON: {echo(data.decode('latin-1'))}"}}


@dataclass
class Answer:
    """What has come so far."""

    text: str = ""
    reasoning: str = ""
    """What a model says that thinks first."""
    finish: str = ""
    """Why it ended: stop, length, abort ... Empty: it has not."""
    tokens: int | None = None
    """Of text and reasoning; None before the end."""
    error: str = ""
    """That came in the place of a chunk."""
    cut: str = ""
    """Why the connection ended before the stream."""

    def take(self, chunk: Mapping[str, Any]) -> str:
        """Take in a chunk, and return the text in it."""
        try:
            return self._taken(chunk)
        except (AttributeError, LookupError, TypeError, ValueError):
            self.error = f"no chunk: {echo(json.dumps(chunk))}"
            return ""

    def _taken(self, chunk: Mapping[str, Any]) -> str:
        if error := chunk.get("error"):
            self.error = said(error)
        if usage := chunk.get("usage"):
            self.tokens = int(usage["completion_tokens"])
        text = ""
        for choice in chunk.get("choices") or ():
            delta = choice.get("delta") or {}
            thought = next((delta[key] for key in _REASONING if delta.get(key)), "")
            self.reasoning += thought
            self.text += delta.get("content") or ""
            text += thought + (delta.get("content") or "")
            self.finish = choice.get("finish_reason") or self.finish
        return text

    def fault(self) -> str:
        """Return the sentence on what is wrong with it; empty, when it is an answer."""
        whole = self.text + self.reasoning
        if self.error:
            return f"the engine broke off with an error: {self.error}"
        if not self.finish:
            why = self.cut or "the stream ended without a finish_reason"
            return f"the answer stops half way, after {len(whole)} characters: {why}"
        if self.finish not in {"stop", "length"}:
            return (
                f"the engine ended the answer with finish_reason {echo(self.finish)}, after {len(whole)} characters:"
                " it was put to sleep or stopped in the middle, or failed"
            )
        if not whole.strip():
            return f"the answer is empty: finish_reason {self.finish}, {self.tokens or 0} tokens"
        if signs := garbage(whole):
            return (
                f"the answer is garbage, nothing but {signs}: the weights are not what they were (a sleep of level 2,"
                " a broken load); restart the pod"
            )
        return ""


def garbage(text: str) -> str:
    """Return the one sign that a text consists of, five times or more; empty, when it is a text."""
    signs = "".join(text.split())
    return echo(signs[0]) if len(signs) >= _REPEATED and len(set(signs)) == 1 and not signs[0].isalnum() else ""


def refusal(title: str, status: int, later: str | None, body: str, *, shown: str) -> Failure:
    """Return what an answer that is no stream means.

    Args:
        title: of the server.
        status: of the answer, not 200.
        later: its Retry-After; None without.
        body: its text.
        shown: where the token is from; empty: none was shown.
    """
    try:
        parsed = json.loads(body)
    except ValueError:
        parsed = None
    inside = parsed.get("error", parsed) if isinstance(parsed, dict) else body
    line = f"{title}: {status}: {said(inside) or 'no reason is given'}"
    if status in {_UNAUTHORIZED, _FORBIDDEN}:
        what = f"the token of {shown} is none of those that it takes" if shown else "no token was shown"
        return UnclearError(f"{line} ({what})")
    if status in _LATER:
        return UnclearError(f"{line}; it may be asked again in {later} s" if later else line)
    if status == _NOT_FOUND:
        return RefusedError(f"{line}; the name is model.servedName of the stack file: pulumi up, if that is newer")
    return RefusedError(line)


def said(error: Any) -> str:
    """Return an error's message, in one line without its full stop: OpenAI's form, vLLM's older one, or any text."""
    message = error.get("message", "") if isinstance(error, dict) else error
    return plain(" ".join(str(message).split())[:500].rstrip("."))
