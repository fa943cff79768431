"""What a large fleet of per-user caches costs, computed from measured rates."""

from __future__ import annotations

import math
from dataclasses import dataclass

from lab.errors import UsageError


@dataclass(frozen=True)
class Rates:
    """Rates of one processor core, measured as ``SCALE.md`` says."""

    #: Requests a second that one core replays: one part of the fleet, without reading the trace.
    replayed_per_second: float
    #: Requests a second that one core reads from the trace, parses and assigns to users.
    read_per_second: float
    #: Resident bytes of one user's cache, with its objects' entries and its counts.
    bytes_per_user: float
    #: Resident bytes of a user that another part replays: its name and its number. Each part needs all users' numbers.
    bytes_per_other_user: float = 0.0
    #: Resident bytes of an object's name and size. Each part needs all objects that its requests name.
    bytes_per_object: float = 0.0
    #: Resident bytes of a process, whatever it replays.
    bytes_per_process: float = 0.0

    @classmethod
    def from_runs(
        cls, *, requests: float, users: float, whole_seconds: float, part_seconds: float, whole_bytes: float,
        part_bytes: float, parts: int = 2, process_bytes: float = 0.0,
    ) -> Rates:  # fmt: skip
        """Returns the rates from two runs over one trace: of all users, and of one part of them (``--users 1/2``).

        Both runs read the whole trace, so the difference of their times is replaying alone; that of their memory is
        the caches alone. ``process_bytes`` is the memory of a run over a trace of a few users. Raises ``UsageError``
        if the part did not take less time and memory than the whole: the trace is too short, or the machine was busy.
        """
        share = 1 - 1 / parts
        replaying = (whole_seconds - part_seconds) / share if parts > 1 else 0.0
        reading = whole_seconds - replaying
        own = (whole_bytes - part_bytes) / share / users if parts > 1 else 0.0
        if not (replaying > 0 and reading > 0 and own > 0):
            raise UsageError(
                f"the whole took {whole_seconds} s and {whole_bytes:,.0f} bytes, one of {parts} {part_seconds} s "
                f"and {part_bytes:,.0f}; a part must take less than the whole and more than its share."
            )
        return cls(
            replayed_per_second=requests / replaying,
            read_per_second=requests / reading,
            bytes_per_user=own,
            bytes_per_other_user=max(0.0, (whole_bytes - process_bytes) / users - own),
            bytes_per_process=process_bytes,
        )


@dataclass(frozen=True)
class Cost:
    """The cost of one replay of a fleet."""

    #: The number of parts (``--users i/n``), each one process on one core.
    parts: int
    #: The parts that run at the same time.
    running: int
    #: Seconds of one part.
    part_seconds: float
    #: Seconds of the whole, with ``running`` parts at a time.
    seconds: float
    #: Core hours of all parts together.
    core_hours: float
    #: Resident bytes of one part.
    part_bytes: float
    #: Resident bytes of all parts that run at the same time.
    bytes: float
    #: The share of the core hours that is spent on reading the trace, 0 to 1. It grows with the number of parts.
    reading_share: float
    #: The price of the core hours; None without a price.
    price: float | None


def scale(
    *,
    requests: float,
    users: float,
    rates: Rates,
    objects: float = 0.0,
    parts: int = 1,
    cores: int = 1,
    memory: float | None = None,
    price_per_core_hour: float | None = None,
) -> Cost:
    """Returns what one replay of a fleet of per-user caches costs in time, memory and money.

    Each part reads the whole trace and replays its own users, so the time of a part is ``requests`` / read rate +
    ``requests`` / ``parts`` / replay rate. ``cores`` and ``memory`` (bytes, of all machines together; None is
    unlimited) limit how many parts run at a time. The requests are assumed to be spread evenly over users. Cores of
    one machine share its memory bandwidth; measure the rates with as many processes as are to run together.

    Raises ``UsageError`` for a value that is not positive, and if the memory does not hold one part: more parts help.
    """
    for name, value in (
        ("requests", requests), ("users", users), ("parts", parts), ("cores", cores),
        ("replayed_per_second", rates.replayed_per_second), ("read_per_second", rates.read_per_second),
    ):  # fmt: skip
        if not (value > 0 and math.isfinite(value)):
            raise UsageError(f"{name} is {value}; a finite number above 0 is expected.")
    reading = requests / rates.read_per_second
    part_seconds = reading + requests / parts / rates.replayed_per_second
    part_bytes = (
        rates.bytes_per_process
        + users / parts * rates.bytes_per_user
        + users * rates.bytes_per_other_user
        + objects * rates.bytes_per_object
    )
    fitting = parts if memory is None or part_bytes == 0 else int(memory // part_bytes)
    if fitting < 1:
        raise UsageError(
            f"one part needs {part_bytes:,.0f} bytes and there are {memory:,.0f}; use more parts or memory."
        )
    running = min(parts, cores, fitting)
    core_seconds = parts * part_seconds
    core_hours = core_seconds / 3600
    return Cost(
        parts=parts,
        running=running,
        part_seconds=part_seconds,
        seconds=math.ceil(parts / running) * part_seconds,
        core_hours=core_hours,
        part_bytes=part_bytes,
        bytes=running * part_bytes,
        reading_share=parts * reading / core_seconds,
        price=None if price_per_core_hour is None else core_hours * price_per_core_hour,
    )
