"""A server that speaks the messages of Anthropic, streamed and whole."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tests.rigs.model_server import Fail, ModelServer, Request, Say, Tokens, arguments_of, words_of

KINDS = {400: "invalid_request_error", 401: "authentication_error", 404: "not_found_error", 429: "rate_limit_error"}


class AnthropicServer(ModelServer):
    """Its `url` is bare, as its SDK wants it."""

    def streams(self, request: Request) -> bool:
        return bool(request.body.get("stream"))

    def whole(self, request: Request, act: Say) -> Any:
        blocks: list[dict[str, Any]] = [{"type": "text", "text": act.text}] if act.text else []
        for number, (name, arguments) in enumerate(act.calls):
            blocks.append({"type": "tool_use", "id": self._id(number), "name": name, "input": arguments})
        return {**self._message(request, act), "content": blocks, "stop_reason": _stop(act), "usage": _usage(act.tokens)}

    def events(self, request: Request, act: Say) -> Iterator[str]:
        usage = _usage(act.tokens) if act.tokens else {}
        start = {**self._message(request, act), "content": [], "usage": {**usage, "output_tokens": 1} if usage else {}}
        yield _event("message_start", message=start)
        if act.text:
            yield _event("content_block_start", index=0, content_block={"type": "text", "text": ""})
            for word in words_of(act.text):
                yield _event("content_block_delta", index=0, delta={"type": "text_delta", "text": word})
            yield _event("content_block_stop", index=0)
        for number, (name, arguments) in enumerate(act.calls):
            yield from self._call(number, number + bool(act.text), name, arguments_of(arguments))
        said = {"output_tokens": act.tokens.output} if act.tokens else {}
        yield _event("message_delta", delta={"stop_reason": _stop(act), "stop_sequence": None}, usage=said)
        yield _event("message_stop")

    def error(self, act: Fail, request: Request) -> Any:
        kind = act.code or KINDS.get(act.status, "overloaded_error" if act.status == 529 else "api_error")
        return {"type": "error", "error": {"type": kind, "message": act.message.replace("{key}", request.key)}}

    def event_of(self, error: Any) -> str:
        return f"event: error\ndata: {json.dumps(error)}\n\n"

    def _call(self, number: int, index: int, name: str, arguments: str) -> Iterator[str]:
        block = {"type": "tool_use", "id": self._id(number), "name": name, "input": {}}
        yield _event("content_block_start", index=index, content_block=block)
        for piece in (arguments[:4], arguments[4:]):
            yield _event("content_block_delta", index=index, delta={"type": "input_json_delta", "partial_json": piece})
        yield _event("content_block_stop", index=index)

    def _message(self, request: Request, act: Say) -> dict[str, Any]:
        head = {"id": f"msg_{len(self.requests)}", "type": "message", "role": "assistant", "stop_sequence": None}
        return {**head, "stop_reason": None, "model": act.model or request.body.get("model")}

    def _id(self, number: int) -> str:
        return f"toolu_{len(self.requests)}_{number}"


def _event(kind: str, **data: Any) -> str:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **data})}\n\n"


def _stop(act: Say) -> str:
    return "tool_use" if act.calls else "end_turn"


def _usage(tokens: Tokens | None) -> dict[str, Any]:
    """Anthropic counts tokens of the cache apart from the input's."""
    if tokens is None:
        return {}
    return {
        "input_tokens": tokens.input - tokens.cache_read - tokens.cache_write,
        "cache_read_input_tokens": tokens.cache_read,
        "cache_creation_input_tokens": tokens.cache_write,
        "output_tokens": tokens.output,
    }
