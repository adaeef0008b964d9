"""Diff and Update over gRPC, as plain values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from pulumi.runtime.proto import provider_pb2

from rehearsal.providers.values import from_struct, to_struct
from tests.rehearsal.conftest import Provider, urn


@dataclass(frozen=True, kw_only=True)
class Answer:
    """A DiffResponse. `detail`: property path to the name of its kind."""

    changes: bool
    detail: dict[str, str]
    diffs: list[str]
    replaces: list[str]
    delete_first: bool


@dataclass(frozen=True, kw_only=True)
class Change:
    """An existing resource and what it shall be."""

    provider: Provider
    token: str
    name: str
    id: str
    outputs: dict[str, Any]
    olds: dict[str, Any]
    news: dict[str, Any]

    def diff(self, *ignored: str) -> Answer:
        response = self.provider.stub.Diff(
            provider_pb2.DiffRequest(
                urn=urn(self.token, self.name),
                type=self.token,
                name=self.name,
                id=self.id,
                olds=to_struct(self.outputs),
                old_inputs=to_struct(self.olds),
                news=to_struct(self.news),
                ignoreChanges=ignored,
            )
        )
        return answered(response)

    def update(self, *, preview: bool = False) -> dict[str, Any]:
        response = self.provider.stub.Update(
            provider_pb2.UpdateRequest(
                urn=urn(self.token, self.name),
                type=self.token,
                name=self.name,
                id=self.id,
                olds=to_struct(self.outputs),
                old_inputs=to_struct(self.olds),
                news=to_struct(self.news),
                preview=preview,
            )
        )
        return from_struct(response.properties)


def answered(response: Any) -> Answer:
    kinds = provider_pb2.PropertyDiff.Kind
    assert response.hasDetailedDiff
    return Answer(
        changes=response.changes == provider_pb2.DiffResponse.DIFF_SOME,
        detail={path: kinds.Name(it.kind) for path, it in response.detailedDiff.items()},
        diffs=list(response.diffs),
        replaces=list(response.replaces),
        delete_first=response.deleteBeforeReplace,
    )


@pytest.fixture
def change() -> Callable[..., Change]:
    """`change(provider, token, olds, news)`: makes a resource and checks what it shall be, as the engine does."""

    def made(provider: Provider, token: str, olds: dict[str, Any], news: dict[str, Any], name: str = "it") -> Change:
        before = provider.check(token, name, olds)
        identifier, outputs = provider.create(token, name, before)
        after = provider.check(token, name, news, olds=before, seed=b"")
        return Change(
            provider=provider, token=token, name=name, id=identifier, outputs=outputs, olds=before, news=after
        )

    return made


@pytest.fixture
def configured(connect: Callable[..., Provider]) -> Callable[..., Answer]:
    """`configured("aws", olds, news)`: what DiffConfig says of a provider's arguments."""

    def diff(package: str, olds: dict[str, Any], news: dict[str, Any]) -> Answer:
        provider = connect(package, configured=False)
        request = provider_pb2.DiffRequest(olds=to_struct(olds), old_inputs=to_struct(olds), news=to_struct(news))
        return answered(provider.stub.DiffConfig(request))

    return diff
