"""AWS as a script: what each operation answers, checked by botocore against its own models on the way in and out."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from boto3.session import Session
from botocore.awsrequest import AWSResponse
from botocore.validate import validate_parameters


@dataclass(frozen=True)
class Refusal:
    """An error in place of an answer."""

    code: str
    message: str = "said AWS"
    status: int = 400


_SESSION = Session()
"""One for all tests: it parses each service's model once."""

THROTTLED = Refusal("ThrottlingException", "Rate exceeded")
DENIED = Refusal("AccessDeniedException", "not authorized", 403)
DENIED_EC2 = Refusal("UnauthorizedOperation", "You are not authorized", 403)

Answer = Mapping[str, Any] | Refusal | Callable[[Mapping[str, Any]], Mapping[str, Any] | Refusal]


class Cloud:
    """Answers by operation. Of several answers each is given once, the last one for ever: pages come in order."""

    def __init__(self) -> None:
        self.answers: dict[str, list[Answer]] = {}
        self.asked: list[tuple[str, Mapping[str, Any]]] = []
        self.regions: set[tuple[str, str]] = set()
        self._lock = threading.Lock()

    def on(self, operation: str, *answers: Answer) -> None:
        """Set what an operation answers from now on."""
        self.answers[operation] = list(answers)

    def make(self, service: str, region: str) -> Any:
        """Return a client, as `ops.aws.client` does."""
        self.regions.add((service, region))
        # one client at a time: Aws holds a lock
        client = _SESSION.client(
            service,
            region_name=region,
            aws_access_key_id="key",
            aws_secret_access_key="secret",  # noqa: S106
        )
        events = client.meta.events
        events.register("before-parameter-build.*.*", self._remember)
        events.register("before-call.*.*", self._answer)
        return client

    def times(self, operation: str) -> list[Mapping[str, Any]]:
        """Return the parameters of each request for an operation."""
        return [params for name, params in self.asked if name == operation]

    def _remember(self, params: Any, model: Any, context: Any, **_: Any) -> None:
        context["params"] = dict(params)
        with self._lock:
            self.asked.append((model.name, dict(params)))

    def _answer(self, model: Any, context: Any, **_: Any) -> Any:
        with self._lock:
            assert model.name in self.answers, f"nobody says what {model.name} answers"
            waiting = self.answers[model.name]
            said = waiting.pop(0) if len(waiting) > 1 else waiting[0]
        if callable(said):
            said = said(context["params"])
        if isinstance(said, Refusal):
            parsed = {"Error": {"Code": said.code, "Message": said.message}, "ResponseMetadata": {}}
            return AWSResponse(None, said.status, {}, None), parsed
        if model.output_shape is not None:
            report = validate_parameters(dict(said), model.output_shape)
            assert report is None, report
        return AWSResponse(None, 200, {}, None), {**said, "ResponseMetadata": {"HTTPStatusCode": 200}}
