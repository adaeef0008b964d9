"""Starts the offline providers on free loopback ports of this process."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import grpc
from pulumi.runtime.proto import provider_pb2_grpc

from rehearsal.providers.journal import Journal
from rehearsal.providers.package import Package
from rehearsal.providers.servicer import OfflineProvider
from rehearsal.providers.store import Store

# A Deployment with an embedded script passes the 4 MB default of gRPC with ease.
_MESSAGE_LIMIT = 64 * 1024 * 1024
_OPTIONS = [
    ("grpc.max_receive_message_length", _MESSAGE_LIMIT),
    ("grpc.max_send_message_length", _MESSAGE_LIMIT),
    # Without this two rehearsals could be handed the same port and answer for each other.
    ("grpc.so_reuseport", 0),
]
# Construct blocks its thread while the engine calls back into the same and other servers.
_THREADS = 32


@contextmanager
def serving(packages: Mapping[str, Package], store: Store, journal: Journal | None = None) -> Iterator[dict[str, int]]:
    """Serve `packages` while the context is open; yields the port of each package name."""
    watchers = [] if journal is None else [journal]
    servers: list[grpc.Server] = []
    ports: dict[str, int] = {}
    try:
        for name, package in packages.items():
            server = grpc.server(ThreadPoolExecutor(max_workers=_THREADS), interceptors=watchers, options=_OPTIONS)
            provider_pb2_grpc.add_ResourceProviderServicer_to_server(OfflineProvider(package, store), server)
            ports[name] = server.add_insecure_port("127.0.0.1:0")
            server.start()
            servers.append(server)
        yield ports
    finally:
        for server in servers:
            server.stop(grace=None)


def debug_providers(ports: Mapping[str, int]) -> str:
    """The value of PULUMI_DEBUG_PROVIDERS that attaches the engine to `ports`."""
    return ",".join(f"{name}:{port}" for name, port in ports.items())
