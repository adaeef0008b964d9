"""Ask one server something, over and over, as an application does. Runs in the pod, on the standard library alone."""

import json
import os
import signal
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

EVERY = 60
"""Seconds between two questions."""
FRESH = 3 * EVERY
"""Seconds that an answer proves something."""
SILENCE = 120
"""Seconds without a piece: longer than a server holds a request while it wakes."""
ANSWERED = Path("/tmp/answered")  # noqa: S108 - the pod's own volume
"""Its age is that of the last answer."""


class NoAnswerError(Exception):
    """The server has not answered, or not to the end."""

    def __init__(self, why: str, later: int | None = None) -> None:
        super().__init__(why)
        self.later = later
        """Seconds after which it wants to be asked again."""


@dataclass(frozen=True, kw_only=True)
class Server:
    """Whom to ask."""

    url: str
    model: str
    token: str | None


def special_tokens(tokenizer: str) -> list[str]:
    """Return the signs that steer the model, out of the text of a tokenizer.json.

    Only the list is read: the whole of it, with 256,000 words, takes half a gigabyte as objects.
    """
    key = '"added_tokens":'
    start = tokenizer.index(key) + len(key)
    start += len(tokenizer[start:]) - len(tokenizer[start:].lstrip())
    added, _ = json.JSONDecoder().raw_decode(tokenizer, start)
    return [token["content"] for token in added if token["special"]]


def harmless(text: str, special: Iterable[str]) -> str:
    """Return what a user wrote without the signs that steer: it cannot pretend to be the system or an answer."""
    known, before = [token for token in special if token], None
    while text != before:  # to take one away may put the next one together
        before = text
        for token in known:
            text = text.replace(token, "")
    return text


def request(server: Server, question: str) -> urllib.request.Request:
    """Return the request for a streamed answer."""
    body = {
        "model": server.model,
        "messages": [{"role": "user", "content": question}],
        "max_tokens": 64,
        "stream": True,
    }
    headers = {"Content-Type": "application/json"}
    if server.token:
        headers["Authorization"] = f"Bearer {server.token}"
    return urllib.request.Request(  # noqa: S310 - the platform's own address
        f"{server.url}/chat/completions", json.dumps(body).encode(), headers
    )


def pieces(lines: Iterable[bytes]) -> Iterator[str]:
    """Yield the text of a stream, piece by piece.

    Raises:
        NoAnswerError: it holds an error, or is cut: only a reason to finish and `[DONE]` are an end.
    """
    finish = None
    for line in lines:
        field, _, data = line.strip().partition(b":")
        if field != b"data":
            continue
        if data.strip() == b"[DONE]":
            if finish not in {"stop", "length"}:
                raise NoAnswerError(f"the answer was given up: finish_reason {finish}")
            return
        chunk = json.loads(data)
        if "error" in chunk:
            raise NoAnswerError(f"an error in the answer: {chunk['error']}")
        for choice in chunk["choices"]:
            finish = choice.get("finish_reason") or finish
            delta = choice["delta"]
            yield delta.get("content") or delta.get("reasoning") or delta.get("reasoning_content") or ""
    raise NoAnswerError("the answer has no end")


def ask(server: Server, question: str) -> dict[str, object]:
    """Return the answer, and the seconds to its first piece and to its end.

    Raises:
        NoAnswerError: there is none.
    """
    began, first, text = time.monotonic(), None, ""
    try:
        with urllib.request.urlopen(request(server, question), timeout=SILENCE) as answer:  # noqa: S310 - as above
            for piece in pieces(answer):
                if piece and first is None:
                    first = time.monotonic() - began
                text += piece
    except urllib.error.HTTPError as refusal:
        with refusal:
            later = refusal.headers.get("Retry-After", "")
            said = refusal.read(500).decode(errors="replace")
        raise NoAnswerError(f"{refusal.code}: {said}", int(later) if later.isdigit() else None) from None
    except (OSError, ValueError, LookupError) as error:
        raise NoAnswerError(f"{type(error).__name__}: {error}") from None
    if first is None or not text.strip():
        raise NoAnswerError("the answer is empty")
    return {"answer": text, "firstPieceSeconds": round(first, 3), "seconds": round(time.monotonic() - began, 3)}


def ready(now: float) -> bool:
    """Whether a server has answered a short while ago."""
    return ANSWERED.exists() and now - ANSWERED.stat().st_mtime < FRESH


def main() -> None:
    """Ask until SIGTERM; a line of JSON for each answer, or for why there is none."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # process 1 has no default
    special = special_tokens(Path(os.environ["TOKENIZER"]).read_text(encoding="utf-8"))
    question = harmless(os.environ["QUESTION"], special)
    while True:
        wait = EVERY
        # each time anew: kubelet replaces the file when the Secret changes
        token = (
            Path(os.environ["TOKEN_FILE"]).read_text(encoding="ascii").strip() if "TOKEN_FILE" in os.environ else None
        )
        try:
            said = ask(Server(url=os.environ["OPENAI_BASE_URL"], model=os.environ["MODEL"], token=token), question)
            ANSWERED.touch()
        except NoAnswerError as nothing:
            said = {"noAnswer": str(nothing)}
            wait = nothing.later or EVERY
        print(json.dumps(said), flush=True)
        time.sleep(wait)


if __name__ == "__main__":
    if "--ready" in sys.argv:
        sys.exit(0 if ready(time.time()) else 1)
    main()
