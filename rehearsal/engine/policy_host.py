"""Runs policy packs for the engine, as `pulumi-language-python` would: that plugin is not in a package registry."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import IO, Any, cast

import grpc
from google.protobuf import empty_pb2
from pulumi.runtime.proto import language_pb2, language_pb2_grpc, plugin_pb2

_THREADS = 8
_PATIENCE = 5.0
"""Seconds that a pack gets to end when the engine has no more questions."""


@dataclass
class _Host(language_pb2_grpc.LanguageRuntimeServicer):
    """The part of a language host that starts plugins written in Python. Programs run in this process instead."""

    started: list[subprocess.Popen[bytes]] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def Handshake(self, request: Any, context: grpc.ServicerContext) -> Any:
        return language_pb2.LanguageHandshakeResponse()

    def GetPluginInfo(self, request: Any, context: grpc.ServicerContext) -> Any:
        return plugin_pb2.PluginInfo(version="0.0.0")

    def GetRequiredPackages(self, request: Any, context: grpc.ServicerContext) -> Any:
        return language_pb2.GetRequiredPackagesResponse()

    def InstallDependencies(self, request: Any, context: grpc.ServicerContext) -> Iterator[Any]:
        # they are this process's own
        return iter(())

    def Cancel(self, request: Any, context: grpc.ServicerContext) -> Any:
        return empty_pb2.Empty()

    def RunPlugin(self, request: Any, context: grpc.ServicerContext) -> Iterator[Any]:
        """Run a pack to its end, and pass on what it writes: the engine reads its port from the first line."""
        environment = dict(line.split("=", 1) for line in request.env)
        process = subprocess.Popen(  # noqa: S603 - our Python, the pack that was asked for
            [sys.executable, "-u", "-m", "pulumi.policy", *request.args, request.info.program_directory],
            cwd=request.pwd,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            # Ctrl-C reaches the rehearsal, which then ends it
            start_new_session=True,
        )
        self.started.append(process)
        context.add_callback(lambda: _end(process))
        written: SimpleQueue[tuple[str, bytes] | None] = SimpleQueue()
        for name, stream in (("stdout", process.stdout), ("stderr", process.stderr)):
            threading.Thread(target=_pass_on, args=(name, cast("IO[bytes]", stream), written), daemon=True).start()
        open_streams, said = 2, list[bytes]()
        while open_streams:
            if (piece := written.get()) is None:
                open_streams -= 1
            else:
                name, line = piece
                said += [line] if name == "stderr" else []
                yield (
                    language_pb2.RunPluginResponse(stdout=line)
                    if name == "stdout"
                    else language_pb2.RunPluginResponse(stderr=line)
                )
        if process.wait() > 0:
            self.complaints += b"".join(said).decode("utf-8", "replace").splitlines()
        yield language_pb2.RunPluginResponse(exitcode=process.returncode)


def _pass_on(name: str, stream: IO[bytes], written: SimpleQueue[tuple[str, bytes] | None]) -> None:
    with stream:
        for line in stream:
            written.put((name, line))
    written.put(None)


def _end(process: subprocess.Popen[bytes]) -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        if process.poll() is not None:
            return
        try:
            os.killpg(process.pid, number)
            process.wait(timeout=_PATIENCE)
        except subprocess.TimeoutExpired:
            continue
        except ProcessLookupError:
            return


@contextmanager
def serving(complaints: list[str]) -> Iterator[int]:
    """Serve while the context is open; yields the port for PULUMI_DEBUG_LANGUAGES. No pack outlives it.

    `complaints` takes what packs wrote to standard error before they ended badly: the engine keeps it to itself.
    """
    host = _Host(complaints=complaints)
    server = grpc.server(ThreadPoolExecutor(max_workers=_THREADS), options=[("grpc.so_reuseport", 0)])
    language_pb2_grpc.add_LanguageRuntimeServicer_to_server(host, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        yield port
    finally:
        for process in host.started:
            _end(process)
        server.stop(grace=None)
