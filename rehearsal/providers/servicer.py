"""The resource provider protocol, spoken for one `Package`.

The engine attaches to one server per package and opens one connection per provider instance of
the program, on which it sends Configure first and then everything that concerns that instance
(`plugin.NewProvider` in `sdk/go/common/resource/plugin/provider_plugin.go`, pulumi 3.274). Check,
Create and the rest do not say which instance they mean, so the connection's peer address is the
key: two `aws.Provider`s with two regions or two sets of default tags stay apart.
"""

from __future__ import annotations

import json
import threading
from typing import NoReturn

import grpc
from google.protobuf import empty_pb2
from pulumi.runtime.proto import plugin_pb2, provider_pb2, provider_pb2_grpc

from rehearsal.providers.change.creation import create, foreseen
from rehearsal.providers.change.unique import ConflictError
from rehearsal.providers.change.update import update
from rehearsal.providers.change.verdict import Verdict
from rehearsal.providers.naming import NameRefusedError
from rehearsal.providers.outputs import as_given
from rehearsal.providers.package import Comparison, Instance, Kind, Package, Proposal, RefusedError
from rehearsal.providers.store import Store
from rehearsal.providers.values import from_struct, reveal, to_struct


class OfflineProvider(provider_pb2_grpc.ResourceProviderServicer):
    """Serves `package`, remembering what it creates in `store`.

    Refusals (unknown types, unknown invokes, calls out of order) end the call with a gRPC status
    whose details are one line for the user; the engine shows that line and fails the run.
    """

    def __init__(self, package: Package, store: Store) -> None:
        self._package = package
        self._store = store
        self._instances: dict[str, Instance] = {}
        self._lock = threading.Lock()
        self._creating = threading.Lock()

    def Handshake(
        self, request: provider_pb2.ProviderHandshakeRequest, context: grpc.ServicerContext
    ) -> provider_pb2.ProviderHandshakeResponse:
        return provider_pb2.ProviderHandshakeResponse(
            accept_secrets=True,
            accept_resources=True,
            accept_outputs=False,
            supports_autonaming_configuration=True,
        )

    def Attach(self, request: plugin_pb2.PluginAttach, context: grpc.ServicerContext) -> empty_pb2.Empty:
        return empty_pb2.Empty()

    def GetPluginInfo(self, request: empty_pb2.Empty, context: grpc.ServicerContext) -> plugin_pb2.PluginInfo:
        return plugin_pb2.PluginInfo(version=self._package.version)

    def Cancel(self, request: empty_pb2.Empty, context: grpc.ServicerContext) -> empty_pb2.Empty:
        return empty_pb2.Empty()

    def CheckConfig(
        self, request: provider_pb2.CheckRequest, context: grpc.ServicerContext
    ) -> provider_pb2.CheckResponse:
        return provider_pb2.CheckResponse(inputs=request.news)

    def DiffConfig(self, request: provider_pb2.DiffRequest, context: grpc.ServicerContext) -> provider_pb2.DiffResponse:
        olds, news = reveal(from_struct(request.old_inputs)), reveal(from_struct(request.news))
        return _answer(self._package.diff_config(olds, news))

    def Configure(
        self, request: provider_pb2.ConfigureRequest, context: grpc.ServicerContext
    ) -> provider_pb2.ConfigureResponse:
        config = {key: _decoded(value) for key, value in reveal(from_struct(request.args)).items()}
        with self._lock:
            self._instances[context.peer()] = Instance(urn=request.urn, config=config)
        return provider_pb2.ConfigureResponse(
            acceptSecrets=True,
            supportsPreview=True,
            acceptResources=True,
            acceptOutputs=False,
            supports_autonaming_configuration=True,
        )

    def Check(self, request: provider_pb2.CheckRequest, context: grpc.ServicerContext) -> provider_pb2.CheckResponse:
        kind = self._kind(request.type, context)
        proposal = Proposal(
            instance=self._instance(context),
            token=request.type,
            logical=request.name,
            olds=from_struct(request.olds),
            news=from_struct(request.news),
            seed=request.randomSeed,
            autonaming=request.autonaming if request.HasField("autonaming") else None,
        )
        try:
            inputs = self._package.check(kind, proposal)
        except NameRefusedError as refusal:
            failure = provider_pb2.CheckFailure(property="", reason=str(refusal))
            return provider_pb2.CheckResponse(failures=[failure])
        return provider_pb2.CheckResponse(inputs=to_struct(inputs))

    def Diff(self, request: provider_pb2.DiffRequest, context: grpc.ServicerContext) -> provider_pb2.DiffResponse:
        kind = self._kind(request.type, context)
        comparison = Comparison(
            instance=self._instance(context),
            token=request.type,
            logical=request.name,
            outputs=from_struct(request.olds),
            olds=from_struct(request.old_inputs),
            news=from_struct(request.news),
            ignored=tuple(request.ignoreChanges),
        )
        return _answer(self._package.diff(kind, comparison))

    def Create(self, request: provider_pb2.CreateRequest, context: grpc.ServicerContext) -> provider_pb2.CreateResponse:
        kind = self._kind(request.type, context)
        inputs = from_struct(request.properties)
        if request.preview:
            return provider_pb2.CreateResponse(properties=to_struct(foreseen(kind, inputs)))
        instance = self._instance(context)
        try:
            # One at a time: of two that collide the second must see the first.
            with self._creating:
                made = create(
                    kind,
                    self._store,
                    token=request.type,
                    urn=request.urn,
                    logical=request.name,
                    instance=instance,
                    inputs=inputs,
                )
        except ConflictError as conflict:
            _refuse(context, grpc.StatusCode.ALREADY_EXISTS, f"{request.urn}: {conflict}")
        return provider_pb2.CreateResponse(id=made.id, properties=to_struct(made.outputs))

    def Read(self, request: provider_pb2.ReadRequest, context: grpc.ServicerContext) -> provider_pb2.ReadResponse:
        """An id that is not there gives an empty answer: the engine takes it as deleted."""
        self._kind(request.type, context)
        outputs = self._store.get(request.type, request.id)
        if outputs is None:
            return provider_pb2.ReadResponse()
        inputs = as_given(outputs, from_struct(request.inputs))
        return provider_pb2.ReadResponse(id=request.id, properties=to_struct(outputs), inputs=to_struct(inputs))

    def Update(self, request: provider_pb2.UpdateRequest, context: grpc.ServicerContext) -> provider_pb2.UpdateResponse:
        kind = self._kind(request.type, context)
        stored = from_struct(request.olds) if request.preview else self._store.get(request.type, request.id)
        if stored is None:
            _refuse(
                context,
                grpc.StatusCode.NOT_FOUND,
                f"{request.urn}: {request.id} does not exist in the offline cloud",
            )
        given, news = from_struct(request.old_inputs), from_struct(request.news)
        try:
            outputs = update(kind, outputs=stored, given=given, news=news, preview=request.preview)
        except RefusedError as refusal:
            _refuse(context, grpc.StatusCode.INVALID_ARGUMENT, f"{request.urn}: {refusal}")
        if not request.preview:
            self._store.put(request.type, request.id, outputs)
        return provider_pb2.UpdateResponse(properties=to_struct(outputs))

    def Delete(self, request: provider_pb2.DeleteRequest, context: grpc.ServicerContext) -> empty_pb2.Empty:
        self._store.delete(request.type, request.id)
        return empty_pb2.Empty()

    def Invoke(self, request: provider_pb2.InvokeRequest, context: grpc.ServicerContext) -> provider_pb2.InvokeResponse:
        answer = self._package.invokes.get(request.tok)
        if answer is None:
            _refuse(
                context,
                grpc.StatusCode.UNIMPLEMENTED,
                f"the offline {self._package.name} provider cannot answer the look-up "
                f"`{request.tok}`: pass the value in the program instead, or teach it the answer",
            )
        outputs = answer(self._instance(context), reveal(from_struct(request.args)))
        response = provider_pb2.InvokeResponse()
        # The field's name is a Python keyword.
        getattr(response, "return").CopyFrom(to_struct(outputs))
        return response

    def Construct(
        self, request: provider_pb2.ConstructRequest, context: grpc.ServicerContext
    ) -> provider_pb2.ConstructResponse:
        if self._package.construct is None:
            _refuse(
                context,
                grpc.StatusCode.UNIMPLEMENTED,
                f"the offline {self._package.name} provider has no component {request.type}",
            )
        try:
            return self._package.construct(request)
        except ValueError as refusal:
            _refuse(context, grpc.StatusCode.INVALID_ARGUMENT, str(refusal))

    def _kind(self, token: str, context: grpc.ServicerContext) -> Kind:
        try:
            return self._package.find(token)
        except LookupError as refusal:
            _refuse(context, grpc.StatusCode.UNIMPLEMENTED, str(refusal.args[0]))

    def _instance(self, context: grpc.ServicerContext) -> Instance:
        with self._lock:
            instance = self._instances.get(context.peer())
        if instance is None:
            _refuse(
                context,
                grpc.StatusCode.FAILED_PRECONDITION,
                f"the offline {self._package.name} provider was called before it was configured",
            )
        return instance


def _refuse(context: grpc.ServicerContext, code: grpc.StatusCode, message: str) -> NoReturn:
    context.abort(code, message)
    raise AssertionError("abort raises")


def _decoded(value: object) -> object:
    # SDKs send nested provider arguments (defaultTags, allowedAccountIds) as JSON text.
    if isinstance(value, str) and value[:1] in ("{", "["):
        return json.loads(value)
    return value


def _answer(verdict: Verdict) -> provider_pb2.DiffResponse:
    response = provider_pb2.DiffResponse(
        changes=provider_pb2.DiffResponse.DIFF_SOME if verdict.details else provider_pb2.DiffResponse.DIFF_NONE,
        diffs=verdict.changed,
        replaces=verdict.replaces,
        deleteBeforeReplace=verdict.delete_first,
        hasDetailedDiff=True,
    )
    for path, detail in verdict.details.items():
        response.detailedDiff[path].kind = provider_pb2.PropertyDiff.Kind.Value(detail.word)
    return response
