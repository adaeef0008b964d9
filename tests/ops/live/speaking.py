"""The stub engine of `tests/serving/front`, whose streams are chat completions as vLLM writes them."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[3]))

from tests.serving.front import stub


class Speaking(stub.Engine):
    """Says `word0 word1 ...`, as many as it is asked for."""

    async def chat(self, headers: dict[str, str], body: bytes, writer: asyncio.StreamWriter) -> None:
        await super().chat(headers, json.dumps({"id": "none", **json.loads(body)}).encode(), writer)

    async def stream(self, asked: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        if "messages" not in asked:
            await super().stream(asked, writer)
            return
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
        count = asked["max_tokens"]
        parts = [{"choices": [{"delta": {"content": f"word{number} "}}]} for number in range(count)]
        parts += [{"choices": [{"delta": {}, "finish_reason": "length"}]}]
        parts += [{"choices": [], "usage": {"completion_tokens": count}}]
        for text in (*map(json.dumps, parts), "[DONE]"):
            piece = f"data: {text}\n\n".encode()
            writer.write(b"%x\r\n%s\r\n" % (len(piece), piece))
        writer.write(b"0\r\n\r\n")
        await writer.drain()


if __name__ == "__main__":
    stub.Engine = Speaking
    asyncio.run(stub.main(int(sys.argv[1]), sys.argv[2]))
