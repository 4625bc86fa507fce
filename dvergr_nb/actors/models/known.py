"""The providers that can be named before a colon: what package each needs and where it looks for a key."""

from __future__ import annotations

import importlib.util
import os
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """A provider whose clients are made here, so that its endpoint, its key and its retries are ours to say."""

    package: str
    """The SDK that must be there to import."""
    extra: str
    """The extra of this package that brings it."""
    keys: tuple[str, ...]
    """Environment variables that may hold the key, the first one that is set wins."""
    base: str
    """The environment variable by which its SDK lets people move the endpoint."""


_OPENAI: Final = Known(package="openai", extra="openai", keys=("OPENAI_API_KEY",), base="OPENAI_BASE_URL")

KNOWN: Final = {
    "openai": _OPENAI,
    "openai-chat": _OPENAI,
    "openai-responses": _OPENAI,
    "anthropic": Known(package="anthropic", extra="anthropic", keys=("ANTHROPIC_API_KEY",), base="ANTHROPIC_BASE_URL"),
    "google": Known(
        package="google.genai", extra="google", keys=("GOOGLE_API_KEY", "GEMINI_API_KEY"), base="GOOGLE_GEMINI_BASE_URL"
    ),
}

ALIASES: Final = {"google-gla": "google", "gemini": "google"}
"""Names that providers have had."""

OTHERS: Final = {
    "alibaba": ("ALIBABA_API_KEY", "DASHSCOPE_API_KEY"),
    "cerebras": ("CEREBRAS_API_KEY",),
    "cohere": ("CO_API_KEY",),
    "deepseek": ("DEEPSEEK_API_KEY",),
    "fireworks": ("FIREWORKS_API_KEY",),
    "groq": ("GROQ_API_KEY",),
    "huggingface": ("HF_TOKEN",),
    "mistral": ("MISTRAL_API_KEY",),
    "moonshotai": ("MOONSHOTAI_API_KEY",),
    "nebius": ("NEBIUS_API_KEY",),
    "openrouter": ("OPENROUTER_API_KEY",),
    "together": ("TOGETHER_API_KEY",),
    "xai": ("XAI_API_KEY",),
}
"""Providers that pydantic-ai makes clients of, and where it looks for their keys; it knows more of them than these."""


def is_installed(package: str) -> bool:
    """Whether a package is there to import; it is not imported."""
    try:
        return importlib.util.find_spec(package) is not None
    except ImportError:
        return False


def first_set(names: tuple[str, ...]) -> str | None:
    """The value of the first environment variable that holds one."""
    return next((value for name in names if (value := os.environ.get(name, "").strip())), None)
