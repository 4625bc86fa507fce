"""What can be set for an actor, and what cannot."""

from __future__ import annotations

import pytest

import dvergr_nb as d
from dvergr_nb.errors import BadInput
from dvergr_nb.runtime.dials import UNSET, Dials


@pytest.mark.parametrize("temperature", ["hot", -0.1, True, float("nan"), float("inf")])
def test_a_temperature_is_a_number_from_nothing(temperature):
    with pytest.raises(BadInput, match="a temperature is a number from 0"):
        Dials(temperature=temperature)


@pytest.mark.parametrize("cap", ["x", -1, True, 1.5])
def test_a_cap_of_tool_uses_is_a_whole_number_from_nothing(cap):
    with pytest.raises(BadInput, match="a cap of tool uses is a whole number from 0"):
        Dials(tool_cap=cap)


async def test_what_cannot_be_set_leaves_an_actor_as_it_was():
    async with d.connect(":memory:"):
        with pytest.raises(BadInput):
            d.tune("echo", tool_cap=-1)
        assert d.room().found("echo").dials is UNSET
