"""Shared by the tests of the fake provider: one provider for the module, and prompts to send it."""

from collections.abc import Iterator

import pytest

from mashq.testing import FakeProvider


@pytest.fixture(scope="module")
def shared() -> Iterator[FakeProvider]:
    """One process for all tests of a module; it has to survive every one of them."""
    with FakeProvider() as provider:
        yield provider


@pytest.fixture
def provider(shared: FakeProvider) -> Iterator[FakeProvider]:
    """The shared provider without faults, before and after; it must still be alive at the end."""
    shared.configure()
    yield shared
    shared.configure()
