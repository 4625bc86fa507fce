"""Which tool an agent finds under a name."""

from __future__ import annotations

import pytest

from dvergr_nb.actors.tools.defining import tool_of
from dvergr_nb.actors.tools.toolbox import Toolbox
from dvergr_nb.agent_errors import BadTool


def look(where: str) -> str:
    return where


def add(a: int) -> int:
    return a


def other(a: int) -> int:
    return -a


def test_functions_tools_names_and_lists_of_them_are_given_by_name():
    box = Toolbox({"known": tool_of(look, name="known")})
    assert box.bind("ann", [look, tool_of(add), "known", [tool_of(other)]]) == ("look", "add", "known", "other")
    assert box.found("ann", "add").function is add
    assert box.found("ann", "known").function is look


def test_an_agents_own_tool_is_seen_by_no_other():
    box = Toolbox({})
    box.bind("ann", [tool_of(add, name="act")])
    box.bind("bob", [tool_of(other, name="act")])
    assert box.found("ann", "act").function is add
    assert box.found("bob", "act").function is other
    with pytest.raises(BadTool, match="eve needs tool 'act', which no cell of this kernel has defined; run the cell that does"):
        box.found("eve", "act")


def test_the_latest_definition_of_a_name_wins_but_not_over_an_agents_own():
    defined = {"act": tool_of(add, name="act")}
    box = Toolbox(defined)
    box.bind("ann", ["act"])
    box.bind("bob", [tool_of(look, name="act")])
    defined["act"] = tool_of(other, name="act")
    assert box.found("ann", "act").function is other
    assert box.found("bob", "act").function is look


def test_an_unknown_name_is_refused_with_the_nearest():
    box = Toolbox({"read_file": tool_of(look, name="read_file")})
    with pytest.raises(BadTool, match="did you mean 'read_file'"):
        box.bind("ann", ["read_fil"])
    with pytest.raises(BadTool, match=r"define it with @d\.tool"):
        box.bind("ann", ["quite else"])


def test_nothing_is_bound_where_one_is_refused():
    box = Toolbox({})
    with pytest.raises(BadTool):
        box.bind("ann", [look, lambda x: x])
    with pytest.raises(BadTool, match="needs tool 'look'"):
        box.found("ann", "look")


@pytest.mark.parametrize("tools", ["look", 3, None, {"look": look}])
def test_tools_are_a_list(tools):
    with pytest.raises(BadTool, match="a list of functions"):
        Toolbox({}).bind("ann", tools)


def test_a_name_is_given_once():
    with pytest.raises(BadTool, match="two tools named 'look'"):
        Toolbox({}).bind("ann", [look, tool_of(add, name="look")])
