"""Every change that the engine asked the offline cloud for, in order, and a word in it before it happens.

Kept beside the providers, as a gRPC interceptor: a provider need not know that it is watched.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import grpc

from rehearsal.providers.values import Properties, from_struct

Verb = Literal["create", "update", "delete"]
_VERBS: dict[str, Verb] = {"Create": "create", "Update": "update", "Delete": "delete"}


@dataclass(frozen=True, kw_only=True)
class Call:
    """One change, after the provider's answer."""

    verb: Verb
    urn: str
    type: str
    name: str
    """Logical name."""
    id: str
    inputs: Properties
    """Checked inputs of a create or update, secrets in Pulumi's wrappers."""


class TroubleError(Exception):
    """What a listener raises to make the cloud refuse a change; the message reaches the user."""


Listener = Callable[[Verb, str], None]
"""Told the verb and the URN."""


class Journal(grpc.ServerInterceptor):  # type: ignore[misc] # grpcio ships no types
    """Records changes that took place.

    `before` runs in front of each change, in the thread that will make it, and may refuse it with
    TroubleError. `after` runs when the cloud has changed and the engine has not been told yet.
    """

    def __init__(self, *, before: Listener | None = None, after: Listener | None = None) -> None:
        self._calls: list[Call] = []
        self._lock = threading.Lock()
        self._before = before
        self._after = after

    @property
    def calls(self) -> tuple[Call, ...]:
        """The changes so far, in the order in which they ended."""
        with self._lock:
            return tuple(self._calls)

    def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], grpc.RpcMethodHandler | None],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> grpc.RpcMethodHandler | None:
        """Wrap the handlers that change something; the others pass."""
        handler = continuation(handler_call_details)
        verb = _VERBS.get(handler_call_details.method.rpartition("/")[2])
        if handler is None or verb is None:
            return handler
        inner = handler.unary_unary

        def watched(request: Any, context: grpc.ServicerContext) -> Any:
            if verb != "delete" and request.preview:
                return inner(request, context)
            if self._before is not None:
                try:
                    self._before(verb, request.urn)
                except TroubleError as trouble:
                    context.abort(grpc.StatusCode.INTERNAL, str(trouble))
            response = inner(request, context)
            with self._lock:
                self._calls.append(_call(verb, request, response))
            if self._after is not None:
                self._after(verb, request.urn)
            return response

        return grpc.unary_unary_rpc_method_handler(
            watched,
            request_deserializer=handler.request_deserializer,
            response_serializer=handler.response_serializer,
        )


def _call(verb: Verb, request: Any, response: Any) -> Call:
    _, _, kind, name = request.urn.split("::", 3)
    given = {"create": "properties", "update": "news"}.get(verb)
    return Call(
        verb=verb,
        urn=request.urn,
        # A URN holds the types of all parents, `a:b:C$aws:ec2/vpc:Vpc`.
        type=kind.rpartition("$")[2],
        name=name,
        id=response.id if verb == "create" else request.id,
        inputs=from_struct(getattr(request, given)) if given else {},
    )


class FailAt:
    """A listener that refuses the creation, change or removal of the resource `name`.

    `name` is a logical name, or a URN when several resources share a name.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.met = False
        """Whether there was such a change."""

    def __call__(self, verb: Verb, urn: str) -> None:
        """Refuse it. Raises TroubleError."""
        if self.name in {urn, urn.split("::", 3)[3]}:
            self.met = True
            raise TroubleError(f"told to fail at {self.name} ({verb})")
