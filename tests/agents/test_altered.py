"""Profiles that somebody has changed by hand."""

from __future__ import annotations

import dataclasses

import pytest

import dvergr_nb as d
from dvergr_nb.errors import NotFound, Refused
from tests.agents.stage import lines, stage
from tests.rigs.model_server import Say


async def test_a_profile_that_was_changed_by_hand_hires_nobody_and_changes_nobody():
    async with stage(Say("ok"), instructions="Be kind.") as server:
        altered = dataclasses.replace(d.profile("researcher"), instructions="Be rude.")
        with pytest.raises(Refused, match="version 1 is there and says something else"):
            d.hire(altered, "go")
        await d.turn("researcher", "go")
        assert lines(server.requests[0])[0].text == "Be kind."


async def test_a_profile_that_nobody_has_defined_hires_nobody():
    async with stage(Say("ok")) as server:
        with pytest.raises(NotFound, match="in version 7"):
            d.hire(dataclasses.replace(d.profile("researcher"), version=7), "go")
        assert server.requests == []
