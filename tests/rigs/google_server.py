"""A server that speaks the generateContent of Google's Gemini API, streamed and whole."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tests.rigs.model_server import Fail, ModelServer, Request, Say, words_of

STATUS = {400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 404: "NOT_FOUND", 429: "RESOURCE_EXHAUSTED", 503: "UNAVAILABLE"}


class GoogleServer(ModelServer):
    """Its `url` is bare; the version stands in the paths."""

    def streams(self, request: Request) -> bool:
        return ":streamGenerateContent" in request.path

    def whole(self, request: Request, act: Say) -> Any:
        parts: list[dict[str, Any]] = [{"text": act.text}] if act.text else []
        parts += [{"functionCall": {"name": name, "args": arguments}} for name, arguments in act.calls]
        return self._answer(request, act, parts, is_last=True)

    def events(self, request: Request, act: Say) -> Iterator[str]:
        pieces: list[dict[str, Any]] = [{"text": word} for word in words_of(act.text)]
        pieces += [{"functionCall": {"name": name, "args": arguments}} for name, arguments in act.calls]
        for number, piece in enumerate(pieces, 1):
            yield f"data: {json.dumps(self._answer(request, act, [piece], is_last=number == len(pieces)))}\r\n\r\n"

    def error(self, act: Fail, request: Request) -> Any:
        message = act.message.replace("{key}", request.key)
        return {"error": {"code": act.status, "message": message, "status": act.code or STATUS.get(act.status, "INTERNAL")}}

    def _answer(self, request: Request, act: Say, parts: list[dict[str, Any]], *, is_last: bool) -> dict[str, Any]:
        asked = request.path.rpartition("/")[2].partition(":")[0]
        candidate: dict[str, Any] = {"index": 0, "content": {"role": "model", "parts": parts}}
        if is_last:
            candidate["finishReason"] = "STOP"
        answer: dict[str, Any] = {"candidates": [candidate], "modelVersion": act.model or asked}
        if act.tokens is not None and is_last:
            answer["usageMetadata"] = {
                "promptTokenCount": act.tokens.input,
                "candidatesTokenCount": act.tokens.output,
                "cachedContentTokenCount": act.tokens.cache_read,
                "totalTokenCount": act.tokens.input + act.tokens.output,
            }
        return answer
