"""What asks models is loaded while everything else on the loop goes on."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SCRIPT = """
import asyncio, sys, threading
import dvergr_nb as d
from tests.agents.stage import agent
from tests.rigs.model_server import Say
from tests.rigs.openai_server import OpenAIServer

found = {}

class Watch:
    def find_spec(self, name, path=None, target=None):
        found.setdefault(name, threading.current_thread() is threading.main_thread())

sys.meta_path.insert(0, Watch())

async def main():
    async with OpenAIServer(Say("Hello")) as server, d.connect(":memory:"):
        agent(server)
        assert await d.turn("researcher", "go") == "Hello"

asyncio.run(main())
heavy = ("pydantic_ai.agent", "pydantic_ai.models.openai", "openai._client", "openai.resources.chat.completions",
    "genai_prices.data_snapshot")
print([name for name in heavy if found[name]])
"""


def test_the_first_turn_of_an_agent_loads_no_package_on_the_loop():
    home = Path(__file__).parents[2]
    given = [sys.executable, "-c", SCRIPT]
    done = subprocess.run(given, capture_output=True, text=True, timeout=120, cwd=home, check=False)
    assert (done.stdout.strip(), done.returncode) == ("[]", 0), done.stderr
