"""`make bench-proxy`: what the front proxy adds at 200 concurrent streams, alone and with the agent's gate.

Three ways to one kind of stub engine, in turns, so that what else the machine does hits all of them: straight to its
port, through nginx, and through nginx and gate. For each: the median time from a token's departure to its arrival, the
median time of a short request beside the streams, and the cores that nginx and agent take. Figures, not verdicts.
"""

import asyncio
import json
import os
import statistics
import time
from collections.abc import Iterator
from pathlib import Path

from tests.serving.front.calls import PATH
from tests.serving.front.pod import TOKEN, Pod

STREAMS = 200
PERIOD = 0.1
"""Seconds between two tokens of a stream."""
TOKENS = 80
ROUNDS = 3
TICKS = os.sysconf("SC_CLK_TCK")


async def exchange(port: int, body: dict[str, object]) -> tuple[float, list[float]]:
    """Return the seconds to the first byte of an answer, and how long each token was on its way."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    data = json.dumps(body).encode()
    head = f"POST {PATH} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKEN}\r\nContent-Length: {len(data)}\r\n"
    began = time.monotonic()
    writer.write(f"{head}Connection: close\r\n\r\n".encode() + data)
    first, travelled = 0.0, []
    while line := await reader.readline():
        now = time.monotonic()
        first = first or now - began
        if line.startswith(b"data: {"):
            travelled.append(now - json.loads(line[6:])["at"])
    writer.close()
    return first, travelled


def cpu(pod: Pod) -> float:
    """Return the CPU seconds of nginx and agent until now."""
    leaders = {pod.processes[name].pid for name in ("nginx", "agent") if name in pod.processes}
    return sum(seconds for group, seconds in _times() if group in leaders)


def _times() -> Iterator[tuple[int, float]]:
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        yield int(fields[2]), (int(fields[11]) + int(fields[12])) / TICKS


async def load(port: int) -> tuple[list[float], list[float]]:
    """Run the streams, and short requests beside them. Returns the seconds of tokens and of short requests."""

    async def stream(number: int) -> list[float]:
        await asyncio.sleep(PERIOD * number / STREAMS)  # an engine's batch would send all at once
        body = {"id": f"s{number}", "stream": True, "tokens": TOKENS, "seconds": PERIOD}
        return (await exchange(port, body))[1]

    streams = asyncio.gather(*(stream(number) for number in range(STREAMS)))
    await asyncio.sleep(1)
    short = []
    while len(short) < 100:
        short.append((await exchange(port, {"id": f"q{len(short)}"}))[0])
        await asyncio.sleep(0.04)
    tokens = [seconds for one in await streams for seconds in one]
    if len(tokens) != STREAMS * TOKENS:
        raise SystemExit(f"{len(tokens)} tokens of {STREAMS * TOKENS}")
    return tokens, short


def main() -> None:
    pods = {"direct": Pod(sleeps=False), "nginx": Pod(sleeps=False), "nginx and gate": Pod(sleeps=True)}
    tokens: dict[str, list[float]] = {name: [] for name in pods}
    short: dict[str, list[float]] = {name: [] for name in pods}
    cores: dict[str, list[float]] = {name: [] for name in pods}
    try:
        for pod in pods.values():
            pod.start()
        for _ in range(ROUNDS):
            for name, pod in pods.items():
                before, began = cpu(pod), time.monotonic()
                found = asyncio.run(load(pod.engine_port if name == "direct" else pod.port))
                cores[name].append((cpu(pod) - before) / (time.monotonic() - began))
                tokens[name] += found[0]
                short[name] += found[1]
    finally:
        for pod in pods.values():
            pod.close()
    print(f"{STREAMS} streams of {1 / PERIOD:g} tokens/s, {ROUNDS} rounds; milliseconds, medians")
    print(f"{'':16}{'token':>8}{'added':>8}{'request':>9}{'added':>8}{'cores':>8}")
    bare = statistics.median(tokens["direct"]), statistics.median(short["direct"])
    for name in pods:
        token, request = statistics.median(tokens[name]), statistics.median(short[name])
        added = f"{(token - bare[0]) * 1e3:8.2f}", f"{(request - bare[1]) * 1e3:8.2f}"
        print(
            f"{name:16}{token * 1e3:8.2f}{added[0]}{request * 1e3:9.2f}{added[1]}{statistics.median(cores[name]):8.3f}"
        )


if __name__ == "__main__":
    main()
