"""The policies of libCacheSim 0.3.5 that Halcyon's are compared with, and the file of that release's counts.

``CATALOGUE`` lists every policy of the release. ``lab.peer_runs`` makes the file, ``lab.evidence.peers`` the tables.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from lab.errors import ResultsError
from lab.tables import write_text_beside

#: The version on PyPI that the counts are of.
RELEASE = "0.3.5"

#: The name of the file of counts in the folder of the suite's results.
COUNTS = f"libcachesim-{RELEASE}.csv"

#: Capacities in % of a trace's distinct objects or bytes.
SHARES = (1, 5, 10, 20)


@dataclass(frozen=True)
class PeerTrace:
    """A trace of the suite ``peers``."""

    #: The name in the suite.
    name: str
    #: The file, below the bundled traces or below ``HALCYON_TRACES``.
    file: str
    #: Whether it is bundled.
    is_bundled: bool = False
    #: Whether objects have sizes, and capacities are in bytes.
    uses_sizes: bool = False

    @property
    def sizes(self) -> str:
        """The unit of its capacities: ``bytes`` or ``objects``."""
        return "bytes" if self.uses_sizes else "objects"


TRACES = (
    PeerTrace("shop", "shop.csv", is_bundled=True),
    PeerTrace("feed", "feed.csv", is_bundled=True, uses_sizes=True),
    PeerTrace("feed_objects", "feed.csv", is_bundled=True),
    PeerTrace("adapt_size", "plain/adapt_size.csv.gz", uses_sizes=True),
    PeerTrace("adapt_size_objects", "plain/adapt_size.csv.gz"),
    PeerTrace("cloudPhysicsIO", "plain/cloudPhysicsIO.csv.gz", uses_sizes=True),
    PeerTrace("cloudPhysicsIO_objects", "plain/cloudPhysicsIO.csv.gz"),
    PeerTrace("corda", "plain/corda.csv.gz"),
    PeerTrace("lirs-loop", "plain/lirs-loop.csv.gz"),
    PeerTrace("lirs-sprite", "plain/lirs-sprite.csv.gz"),
    PeerTrace("scarab-recs", "plain/scarab-recs.csv.gz"),
    PeerTrace("twitter52-1m", "plain/twitter52-1m.csv.gz", uses_sizes=True),
    PeerTrace("twitter52-1m_objects", "plain/twitter52-1m.csv.gz"),
    PeerTrace("web12", "plain/web12.csv.gz"),
)

EXACT, RATIO, LEARNED, COUNTED, OMITTED = "exact", "ratio", "learned", "counted", "omitted"


@dataclass(frozen=True)
class Peer:
    """A policy of the release."""

    #: Its class in ``libcachesim``, or its bound function (``CAR_init``) where there is no class.
    name: str
    #: The comparison: ``exact`` (miss for miss), ``ratio`` (miss ratios), ``learned``, ``counted`` or ``omitted``. A counted
    #: policy has no counterpart in Halcyon and may be the best of a cell. An omitted one is not run.
    comparison: str
    #: The label of Halcyon's policy, if there is one.
    ours: str = ""
    #: The settings that are run, as arguments of the class; an empty text is the default.
    settings: tuple[str, ...] = ("",)
    #: Whether it decides from earlier requests only.
    is_online: bool = True
    #: Whether its counts can be those of a cache of the given capacity.
    is_sound: bool = True
    #: If it is compared only where objects have sizes (true) or only where they have none (false), which of these.
    uses_sizes: bool | None = None
    #: Names of traces that it is not run on.
    skipped: tuple[str, ...] = ()
    #: Why it is compared in this way.
    reason: str = ""
    #: The bound function behind a class, if its name is not the class's with ``_init``.
    function: str = ""

    @property
    def is_run(self) -> bool:
        """Whether the file has counts of it."""
        return self.comparison != OMITTED

    @property
    def bound_function(self) -> str:
        """The function of ``libcachesim.libcachesim_python`` that makes it."""
        return self.function or (self.name if self.name.endswith("_init") else f"{self.name}_init")


# The class passes merge_consecutive_segs=True, which the release reads as 0; the default of its function is 1.
_GL_CACHE = (
    "", "retrain_intvl=60", "merge_consecutive_segs=1", "merge_consecutive_segs=1,retrain_intvl=60",
)  # fmt: skip
_ALSO = "another learner; `{}` is the same one"
_VARIANT = "an older or other form of {}, which is compared"

#: Every policy of the release, by the comparison. ``unlisted`` finds those that are missing here.
CATALOGUE = (
    Peer("FIFO", EXACT, "fifo"),
    Peer("LRU", EXACT, "lru"),
    Peer("LFU", EXACT, "lfu"),
    Peer("Clock", EXACT, "clock"),
    Peer("SLRU", EXACT, "slru"),
    Peer("TwoQ", EXACT, "2q"),
    Peer("LRUK", EXACT, "lru-k(retained=0)", function="LRU_K_init", reason="the paper keeps histories after eviction"),
    Peer("MQ", EXACT, "mq(rules=libcachesim)", reason="it looks into the ghost queue first"),
    Peer("ARC", EXACT, "arc"),
    Peer("CAR_init", EXACT, "car(rules=libcachesim)", reason="its ghosts are unbounded"),
    Peer("LIRS", EXACT, "lirs(rules=libcachesim)", reason="its queue is strict"),
    Peer("Sieve", EXACT, "sieve"),
    Peer("S3FIFO", EXACT, "s3-fifo(refuse=as-large)", reason="it refuses an object as large as the small queue"),
    Peer("QDLP_init", EXACT, "qd-lp-fifo"),
    Peer("Clock2QPlus", EXACT, "clock2q-plus(refuse=as-large)", uses_sizes=False, reason="compared where sizes are uniform"),
    Peer("GDSF", EXACT, "gdsf"),
    Peer("Belady", EXACT, "belady", is_online=False),
    Peer("LeCaR", RATIO, "lecar", reason="random numbers"),
    Peer("Hyperbolic", RATIO, "hyperbolic", reason="random numbers"),
    Peer("LHD", RATIO, "lhd", reason="random numbers"),
    Peer("Cacheus", RATIO, "cacheus", reason="random numbers; the paper leaves details open"),
    Peer("WTinyLFU", RATIO, "w-tinylfu", reason="the paper leaves the sketch open"),
    Peer("Size", RATIO, "size", uses_sizes=True, reason="ties are open; compared where sizes vary"),
    Peer("Random", RATIO, "random", reason="random numbers"),
    Peer("BeladySize", RATIO, "belady-size", is_online=False, reason="random numbers"),
    Peer("ThreeLCache", LEARNED, "learned", ("", "objective=object-miss-ratio"), reason=_ALSO.format("3l-cache")),
    Peer("GLCache", LEARNED, "learned", _GL_CACHE, reason="another learner"),
    Peer("LRB", LEARNED, "learned", ("objective=object-miss-ratio",), reason=_ALSO.format("lrb")),
    Peer("ARCv0_init", COUNTED, reason=_VARIANT.format("ARC")),
    Peer("S3FIFOv0_init", COUNTED, reason=_VARIANT.format("S3FIFO")),
    Peer("S3FIFOd_init", COUNTED, reason=_VARIANT.format("S3FIFO")),
    Peer("SLRUv0_init", COUNTED, reason=_VARIANT.format("SLRU")),
    Peer("LFUCpp_init", COUNTED, reason=_VARIANT.format("LFU")),
    Peer("FIFO_Merge_init", COUNTED, reason="not in Halcyon"),
    Peer("LRUProb", COUNTED, function="LRU_Prob_init", reason="not in Halcyon"),
    Peer("RandomLRU_init", COUNTED, reason="not in Halcyon"),
    Peer("RandomTwo_init", COUNTED, reason="not in Halcyon"),
    Peer("ClockPro", COUNTED, settings=("", "init_ratio_cold=1"), is_sound=False, reason="fewer misses than the optimum"),
    Peer("LFUDA", OMITTED, reason="its counts compound; a run on shop at 1 % did not end in 7 minutes"),
    Peer("LeCaRv0_init", OMITTED, reason="crashes (segmentation fault) on adapt_size"),
    Peer("FlashProb", OMITTED, function="flashProb_init", reason="two tiers; aborts at a capacity of 10 objects"),
    Peer("PluginCache", OMITTED, function="pypluginCache_init", reason="no policy: calls one written in Python"),
    Peer("nop_init", OMITTED, reason="no policy: keeps nothing"),
)  # fmt: skip

BY_NAME: Mapping[str, Peer] = {peer.name: peer for peer in CATALOGUE}


def unlisted(classes: Iterable[str], functions: Iterable[str]) -> list[str]:
    """Returns the policies of a release that ``CATALOGUE`` does not list, and those that it lists and the release lacks.

    ``classes`` are the subclasses of its ``CacheBase``, ``functions`` the names ending in ``_init`` of its extension.
    """
    listed = {peer.name for peer in CATALOGUE if not peer.name.endswith("_init")}
    bound = {peer.bound_function for peer in CATALOGUE}
    return sorted((listed ^ set(classes)) | (bound ^ set(functions)))


@dataclass(frozen=True, order=True)
class Count:
    """What the release counted in one cell."""

    trace: str
    sizes: str
    policy: str
    parameters: str
    capacity: int
    requests: int
    misses: int
    byte_misses: int

    @property
    def key(self) -> tuple[str, str, str, int]:
        """What decides the counts."""
        return (self.trace, self.policy, self.parameters, self.capacity)

    @property
    def miss_ratio(self) -> float:
        return self.misses / self.requests


_HEADER = ["trace", "sizes", "policy", "parameters", "capacity", "requests", "misses", "byte_misses"]


def write_counts(path: Path, counts: Iterable[Count]) -> None:
    """Writes counts, sorted, beside ``path`` and renames the file."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_HEADER)
    for count in sorted(counts):
        writer.writerow([getattr(count, name) for name in _HEADER])
    write_text_beside(path, text.getvalue())


def read_counts(path: Path) -> list[Count]:
    """Returns the counts of a file, in order.

    Raises ``ResultsError`` if it cannot be read, has other columns, a broken or impossible row, an unknown trace or policy,
    a row twice, or rows that are not sorted.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise ResultsError(path, "is not text in UTF-8; 'make peers' writes it.") from None
    except OSError as error:
        raise ResultsError(path, f"cannot be read ({error.strerror}); 'make peers' writes it.") from None
    rows = list(csv.reader(io.StringIO(text)))
    if not rows or rows[0] != _HEADER:
        raise ResultsError(path, f"the first line must be '{','.join(_HEADER)}'.")
    counts: list[Count] = []
    for line, row in enumerate(rows[1:], start=2):
        count = _count(path, line, row)
        if counts and count <= counts[-1]:
            raise ResultsError(path, f"line {line}: is not sorted after the line above it, or repeats it.")
        if counts and count.key == counts[-1].key:
            raise ResultsError(path, f"line {line}: has the same cell as the line above it.")
        counts.append(count)
    return counts


def _count(path: Path, line: int, row: list[str]) -> Count:
    if len(row) != len(_HEADER):
        raise ResultsError(path, f"line {line}: has {len(row)} fields of {len(_HEADER)}.")
    fields = dict(zip(_HEADER, row, strict=True))
    numbers = {}
    for name in _HEADER[4:]:
        if not (fields[name].isascii() and fields[name].isdigit()):
            raise ResultsError(path, f"line {line}: {name} is '{fields[name]}'; an integer from 0 is expected.")
        numbers[name] = int(fields[name])
    trace = next((trace for trace in TRACES if trace.name == fields["trace"]), None)
    if trace is None:
        raise ResultsError(path, f"line {line}: there is no trace '{fields['trace']}' in the suite.")
    if fields["sizes"] != trace.sizes:
        raise ResultsError(path, f"line {line}: sizes of {trace.name} are '{trace.sizes}', not '{fields['sizes']}'.")
    peer = BY_NAME.get(fields["policy"])
    if peer is None or not peer.is_run or fields["parameters"] not in peer.settings:
        policy = f"{fields['policy']}({fields['parameters']})" if fields["parameters"] else fields["policy"]
        raise ResultsError(path, f"line {line}: the policy '{policy}' is none of those that are run.")
    if numbers["misses"] > numbers["requests"] or numbers["requests"] == 0 or numbers["capacity"] == 0:
        raise ResultsError(
            path,
            f"line {line}: {numbers['misses']} misses of {numbers['requests']} requests at a capacity of "
            f"{numbers['capacity']} cannot be.",
        )
    return Count(
        trace.name, trace.sizes, peer.name, fields["parameters"], numbers["capacity"], numbers["requests"],
        numbers["misses"], numbers["byte_misses"],
    )  # fmt: skip
