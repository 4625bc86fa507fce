"""Sessions for the tests of the runtime."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest

from tests.rigs.session import RefusingSession


@pytest.fixture
def opened() -> Callable[..., AbstractAsyncContextManager[RefusingSession]]:
    """`async with opened() as session`: a session on the test's loop whose store can be told to refuse."""

    @asynccontextmanager
    async def open_one(path: str = ":memory:", **who: str) -> AsyncIterator[RefusingSession]:
        session = RefusingSession(path, tenant_id=who.get("tenant_id"), user_id=who.get("user_id"))
        try:
            yield session
        finally:
            session.close(force=True)

    return open_one
