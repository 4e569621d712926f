"""A model on the loopback that says what a script tells it to: one step for each request."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class ScriptedModel:
    """Chat completions, whole or as a stream. A step is a tool call ``(name, arguments)`` or a text."""

    def __init__(self, steps: list[Any]) -> None:
        self.steps = steps
        model = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_: Any) -> None:
                pass

            def do_GET(self) -> None:
                self.answer("application/json", json.dumps({"data": [{"id": "scripted", "object": "model"}]}))

            def do_POST(self) -> None:
                request = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)) or b"{}")
                kind, body = model.reply(request)
                self.answer(kind, body)

            def answer(self, kind: str, body: str) -> None:
                data = body.encode()
                self.send_response(200)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"

    def __enter__(self) -> ScriptedModel:
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: Any) -> None:
        self.server.shutdown()
        self.server.server_close()

    def reply(self, request: dict[str, Any]) -> tuple[str, str]:
        message, reason = self.message(request), "stop"
        if "tool_calls" in message:
            reason = "tool_calls"
        frame = {"id": "scripted", "created": 0, "model": "scripted"}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        if not request.get("stream"):
            choice = {"index": 0, "message": message, "finish_reason": reason}
            whole = {**frame, "object": "chat.completion", "choices": [choice], "usage": usage}
            return "application/json", json.dumps(whole)
        parts = [{"index": 0, "delta": message, "finish_reason": None}, {"index": 0, "delta": {}, "finish_reason": reason}]
        chunks = [json.dumps({**frame, "object": "chat.completion.chunk", "choices": [part]}) for part in parts]
        return "text/event-stream", "".join(f"data: {chunk}\n\n" for chunk in [*chunks, "[DONE]"])

    def message(self, request: dict[str, Any]) -> dict[str, Any]:
        """The next step: as many have been done as the conversation has tool calls."""
        done = sum(1 for message in request.get("messages", []) if message.get("tool_calls"))
        # A request without tools is for a title or the like.
        step = self.steps[done] if request.get("tools") and done < len(self.steps) else "ok"
        if isinstance(step, str):
            return {"role": "assistant", "content": step}
        name, arguments = step
        function = {"name": name, "arguments": json.dumps(arguments)}
        call = {"index": 0, "id": f"call_{done}", "type": "function", "function": function}
        return {"role": "assistant", "content": None, "tool_calls": [call]}
