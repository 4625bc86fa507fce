"""A server that speaks the chat completions of OpenAI, streamed and whole."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, ClassVar

from tests.rigs.model_server import Fail, ModelServer, Request, Say, Tokens, arguments_of, words_of


class OpenAIServer(ModelServer):
    """Its `url` ends with `/v1`, as people give it."""

    base: ClassVar[str] = "/v1"

    def streams(self, request: Request) -> bool:
        return bool(request.body.get("stream"))

    def whole(self, request: Request, act: Say) -> Any:
        message: dict[str, Any] = {"role": "assistant", "content": act.text or None}
        if act.calls:
            message["tool_calls"] = [self._call(number, call) for number, call in enumerate(act.calls)]
        answer = {**self._head(request, act), "object": "chat.completion"}
        answer["choices"] = [{"index": 0, "message": message, "finish_reason": _finish(act)}]
        return answer if act.tokens is None else {**answer, "usage": _usage(act.tokens)}

    def events(self, request: Request, act: Say) -> Iterator[str]:
        yield self._chunk(request, act, {"role": "assistant", "content": ""})
        for word in words_of(act.text):
            yield self._chunk(request, act, {"content": word})
        for number, call in enumerate(act.calls):
            whole = self._call(number, call)
            arguments = whole["function"]["arguments"]
            whole["function"]["arguments"] = ""
            yield self._chunk(request, act, {"tool_calls": [{"index": number, **whole}]})
            for piece in (arguments[:4], arguments[4:]):
                yield self._chunk(request, act, {"tool_calls": [{"index": number, "function": {"arguments": piece}}]})
        yield self._chunk(request, act, {}, finish=_finish(act))
        if act.tokens is not None and (request.body.get("stream_options") or {}).get("include_usage"):
            last = {**self._head(request, act), "object": "chat.completion.chunk", "choices": [], "usage": _usage(act.tokens)}
            yield f"data: {json.dumps(last)}\n\n"
        yield "data: [DONE]\n\n"

    def error(self, act: Fail, request: Request) -> Any:
        kind = "server_error" if act.status >= 500 else "invalid_request_error"
        return {"error": {"message": act.message.replace("{key}", request.key), "type": kind, "code": act.code, "param": None}}

    def _head(self, request: Request, act: Say) -> dict[str, Any]:
        return {
            "id": f"chatcmpl-{len(self.requests)}",
            "created": 1_790_000_000,
            "model": act.model or request.body.get("model"),
        }

    def _chunk(self, request: Request, act: Say, delta: dict[str, Any], *, finish: str | None = None) -> str:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return f"data: {json.dumps({**self._head(request, act), 'object': 'chat.completion.chunk', 'choices': [choice]})}\n\n"

    def _call(self, number: int, call: tuple[str, Any]) -> dict[str, Any]:
        name, arguments = call
        function = {"name": name, "arguments": arguments_of(arguments)}
        return {"id": f"call_{len(self.requests)}_{number}", "type": "function", "function": function}


def _finish(act: Say) -> str:
    return "tool_calls" if act.calls else "stop"


def _usage(tokens: Tokens) -> dict[str, Any]:
    return {
        "prompt_tokens": tokens.input,
        "completion_tokens": tokens.output,
        "total_tokens": tokens.input + tokens.output,
        "prompt_tokens_details": {"cached_tokens": tokens.cache_read},
    }
