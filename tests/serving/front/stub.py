"""A stand-in for an engine that can sleep: `stub.py PORT RECORD`. It can hang, fail, lie and be slow (POST /stub).

Like vLLM it queues what reaches it in its sleep, ends what is queued when it is told to sleep twice, answers /health
and /v1/models while asleep, and closes its port at once on SIGTERM while running requests go on. It writes a line for
each request that reaches it, and whether it was asleep then, to the file RECORD.
"""

import asyncio
import contextlib
import json
import os
import signal
import sys
import time
from typing import Any

START = time.time()


class Engine:
    def __init__(self, record: str) -> None:
        self.record = os.open(record, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        self.sleeping = False
        self.slept = 0
        self.running = self.waiting = 0
        self.awake = asyncio.Event()
        self.awake.set()
        self.dropped: list[asyncio.Event] = []
        self.stopping = asyncio.Event()
        self.knobs: dict[str, Any] = {}

    def note(self, **what: Any) -> None:
        os.write(self.record, (json.dumps({"at": time.monotonic(), **what}) + "\n").encode())

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # cancelled: it ends while connections are open
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, ValueError, asyncio.CancelledError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                line, *lines = head.split("\r\n")
                headers = {n.lower(): v.strip() for n, _, v in (one.partition(":") for one in lines)}
                body = await reader.readexactly(int(headers.get("content-length", "0")))
                method, target, version = line.split(" ")
                await self.answer(method, target, headers, body, writer)
                if version == "HTTP/1.0" or headers.get("connection") == "close":
                    break
        writer.close()

    async def answer(
        self, method: str, target: str, headers: dict[str, str], body: bytes, writer: asyncio.StreamWriter
    ) -> None:
        path = target.partition("?")[0]
        if path == "/stub":
            self.knobs.update(json.loads(body))
            return await plain(writer, 200, "")
        if path == "/v1/chat/completions":
            return await self.chat(headers, body, writer)
        self.note(event="call", path=target, method=method)
        if path in ("/sleep", "/wake_up", "/is_sleeping", "/metrics", "/health"):
            name = path[1:]
            await asyncio.sleep(float(self.knobs.get(f"{name}_seconds", 0)))
            if f"{name}_raw" in self.knobs:
                writer.write(self.knobs[f"{name}_raw"].encode())
                return await writer.drain()
            if f"{name}_status" in self.knobs:
                return await plain(writer, self.knobs[f"{name}_status"], "{}")
        if (method, path) == ("POST", "/sleep"):
            await self.sleep()
            return await plain(writer, 200, "")
        if (method, path) == ("POST", "/wake_up"):
            if not self.knobs.get("wake_up_lies"):
                self.sleeping = False
                self.awake.set()
            return await plain(writer, 200, "")
        if path == "/is_sleeping":
            return await plain(writer, 200, json.dumps({"is_sleeping": self.sleeping}))
        if method == "HEAD":
            # a body behind it would be the next answer on this connection
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            return await writer.drain()
        if path == "/metrics":
            return await chunks(writer, self.metrics())
        if path in ("/health", "/v1/models"):
            return await plain(writer, 200, json.dumps({"path": target, "authorization": headers.get("authorization")}))
        return await plain(writer, 404, json.dumps({"from": "engine"}))

    async def sleep(self) -> None:
        self.slept += 1
        if self.sleeping:
            self.note(event="slept twice")
            for one in self.dropped:
                one.set()
            return
        while self.running:
            await asyncio.sleep(0.005)
        if self.knobs.get("sleep_lies"):
            return
        self.sleeping = True
        self.awake.clear()

    def metrics(self) -> str:
        running = self.knobs.get("running", self.running)
        state = "weights_offloaded" if self.sleeping else "awake"
        states = "".join(
            f'vllm:engine_sleep_state{{engine="0",sleep_state="{one}"}} {float(one == state)}\n'
            for one in ("awake", "weights_offloaded", "discard_all")
        )
        return (
            f'process_start_time_seconds {START}\nvllm:num_requests_running{{engine="0"}} {float(running)}\n'
            f'vllm:num_requests_waiting{{engine="0"}} {float(self.waiting)}\n{states}'
        )

    async def chat(self, headers: dict[str, str], body: bytes, writer: asyncio.StreamWriter) -> None:
        asked = json.loads(body)
        self.note(event="request", id=asked["id"], asleep=self.sleeping, request_id=headers.get("x-request-id"))
        # between its arrival and its place in the engine's count
        if self.sleeping:
            self.waiting += 1
            drop = asyncio.Event()
            self.dropped.append(drop)
            waits = [asyncio.ensure_future(one.wait()) for one in (self.awake, drop)]
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            self.waiting -= 1
            if drop.is_set():
                return await plain(writer, 200, json.dumps({"id": asked["id"], "tokens": 0}))
        self.running += 1
        try:
            if asked.get("stream"):
                await self.stream(asked, writer)
            else:
                await asyncio.sleep(asked.get("seconds", 0))
                await plain(writer, 200, json.dumps({"id": asked["id"], "bytes": len(body), "tokens": 1}))
            self.note(event="done", id=asked["id"])
        finally:
            self.running -= 1

    async def stream(self, asked: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
        for number in range(asked["tokens"]):
            await asyncio.sleep(asked.get("seconds", 0.0))
            piece = f"data: {json.dumps({'id': asked['id'], 'token': number, 'at': time.monotonic()})}\n\n".encode()
            writer.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            await writer.drain()
            if writer.transport.is_closing():
                raise ConnectionResetError
        piece = b"data: [DONE]\n\n"
        writer.write(b"%x\r\n%s\r\n0\r\n\r\n" % (len(piece), piece))
        await writer.drain()


async def plain(writer: asyncio.StreamWriter, status: int, body: str) -> None:
    data = body.encode()
    writer.write(
        b"HTTP/1.1 %d Status\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"
        % (status, len(data), data)
    )
    await writer.drain()


async def chunks(writer: asyncio.StreamWriter, body: str) -> None:
    """Like Uvicorn when an application says no length, in HTTP/1.0 too."""
    data = body.encode()
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n")
    for piece in (data[:50], data[50:]):
        writer.write(b"%x\r\n%s\r\n" % (len(piece), piece))
    writer.write(b"0\r\n\r\n")
    await writer.drain()


async def main(port: int, record: str) -> None:
    engine = Engine(record)
    server = await asyncio.start_server(engine.serve, "127.0.0.1", port, backlog=1024)
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, engine.stopping.set)
    await engine.stopping.wait()
    server.close()
    while engine.running:
        await asyncio.sleep(0.01)


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), sys.argv[2]))
