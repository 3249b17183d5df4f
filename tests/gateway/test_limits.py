"""The queue before an endpoint: never too many at once, never too often, and the wait is measured."""

import asyncio

import pytest

from mashq.gateway.clock import RealClock
from mashq.gateway.limits import Limiter
from tests.gateway.fakes import FakeClock


@pytest.mark.parametrize("concurrency", [1, 3, 8])
async def test_no_more_than_so_many_at_once(concurrency: int) -> None:
    clock = FakeClock()
    limiter = Limiter(clock, concurrency)
    running, most = 0, 0

    async def work() -> None:
        nonlocal running, most
        async with limiter.slot():
            running += 1
            most = max(most, running)
            await clock.sleep(1.0)
            running -= 1

    await asyncio.gather(*(work() for _ in range(24)))
    assert most == concurrency
    assert clock.time == 100.0 + 24 / concurrency


async def test_the_wait_for_a_slot_is_measured_and_the_work_is_not() -> None:
    clock = FakeClock()
    limiter = Limiter(clock, 1)
    waits: list[float] = []

    async def work() -> None:
        async with limiter.slot() as waited:
            waits.append(waited)
            await clock.sleep(2.0)

    await asyncio.gather(*(work() for _ in range(4)))
    assert waits == [0.0, 2.0, 4.0, 6.0]


async def test_starts_are_spaced_over_the_minute_in_order_of_arrival() -> None:
    clock = FakeClock()
    limiter = Limiter(clock, 100, per_minute=30)
    starts: list[tuple[int, float, float]] = []

    async def work(number: int) -> None:
        async with limiter.slot() as waited:
            starts.append((number, clock.time - 100, waited))
            await clock.sleep(50.0)

    await asyncio.gather(*(work(number) for number in range(5)))
    assert starts == [(number, 2.0 * number, 2.0 * number) for number in range(5)]


async def test_a_pause_is_not_saved_up_for_a_burst() -> None:
    clock = FakeClock()
    limiter = Limiter(clock, 100, per_minute=60)
    waits: list[float] = []
    for _ in range(2):
        async with limiter.slot() as waited:
            waits.append(waited)
    await clock.sleep(100.0)
    for _ in range(3):
        async with limiter.slot() as waited:
            waits.append(waited)
    assert waits == [0.0, 1.0, 0.0, 1.0, 1.0]


async def test_both_limits_hold_together() -> None:
    clock = FakeClock()
    limiter = Limiter(clock, 2, per_minute=60)
    starts: list[float] = []

    async def work() -> None:
        async with limiter.slot():
            starts.append(clock.time - 100)
            await clock.sleep(5.0)

    await asyncio.gather(*(work() for _ in range(6)))
    assert starts == [0.0, 1.0, 5.0, 6.0, 10.0, 11.0]


async def test_a_slot_comes_back_after_a_failure_and_after_a_cancelled_wait() -> None:
    clock = FakeClock()
    limiter = Limiter(clock, 1)

    async def fail() -> None:
        async with limiter.slot():
            raise RuntimeError("broken")

    with pytest.raises(RuntimeError):
        await fail()
    async with limiter.slot():
        waiting = asyncio.create_task(fail())
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
    async with asyncio.timeout(5), limiter.slot() as waited:
        assert waited == 0.0


async def test_the_real_clock_moves() -> None:
    clock = RealClock()
    now, tick = clock.now(), clock.tick()
    await clock.sleep(0.02)
    assert 0.015 < clock.tick() - tick < 5
    assert 1.7e9 < now <= clock.now()
