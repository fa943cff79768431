"""The variance of a ratio over units, and the intervals and adjusted p-values made of it.

The methods are those of ``Sources/HalcyonExperiments/Statistics``, and every interval of this package comes from here.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.stats import t as student

Vector = npt.NDArray[np.float64]
#: A variance and its degrees of freedom.
Variance = tuple[float, float]
#: Differences of at most this size are equal, and standard errors of at most this size are none.
TINY = 1e-12
#: The number of cosine transforms of a series of time blocks, as Lazarus et al. recommend for 128 blocks.
TRANSFORMS = 10


@dataclass(frozen=True)
class Interval:
    """A mean difference of hit ratios and its 95 % interval."""

    difference: float
    low: float
    high: float


def interval(difference: float, parts: Iterable[Variance], confidence: float = 0.95) -> Interval:
    """Returns the interval of Student's t about a difference whose independent variances are given."""
    error, degrees = standard_error(parts)
    width = float(student.ppf((1 + confidence) / 2, degrees)) * error if error > TINY else 0.0
    return Interval(difference, difference - width, difference + width)


def standard_error(parts: Iterable[Variance]) -> Variance:
    """Returns the standard error of a sum of independent variances, and Satterthwaite's degrees of freedom."""
    known = list(parts)
    total = sum(variance for variance, _ in known)
    weighted = sum(variance * variance / degrees for variance, degrees in known)
    return math.sqrt(total), total * total / weighted if weighted > 0 else math.inf


def holm(values: Sequence[float]) -> list[float]:
    """Returns Holm's step-down adjustment of p-values, in the given order."""
    adjusted, largest = [0.0] * len(values), 0.0
    for rank, index in enumerate(sorted(range(len(values)), key=lambda place: (values[place], place))):
        largest = max(largest, min(1.0, (len(values) - rank) * values[index]))
        adjusted[index] = largest
    return adjusted


def variance_of(series: Vector, weights: Vector, kind: str) -> Variance:
    """Returns the variance over units of the ratio of the sums of ``series`` and ``weights``.

    It is that of the delete-one jackknife over users, and over time blocks the mean square of the first 4 to 10 cosine
    transforms: fewer if the series depends on itself for long.
    """
    total = float(weights.sum())
    if int((weights > 0).sum()) < 2:
        return 0.0, 1.0
    residuals = series - weights * (float(series.sum()) / total)
    if kind == "users":
        active = int((weights > 0).sum())
        rest = total - weights
        terms = residuals[rest > 0] / rest[rest > 0]
        squares, fourth = float((weights**2).sum()), float((weights**4).sum())
        return float((terms**2).sum()) * (active - 1) / active, max(1.0, squares * squares / fourth - 1)
    count = len(weights)
    ratios = np.divide(series, weights, out=np.zeros(count), where=weights > 0)
    transforms = min(count - 1, max(4, min(TRANSFORMS, count // max(1, block_length(ratios)))))
    waves = np.cos(np.pi * np.outer(np.arange(1, transforms + 1), 2 * np.arange(count) + 1) / (2 * count))
    return 2 / transforms / total**2 * float(((waves @ residuals) ** 2).sum()), float(transforms)


def block_length(series: Vector) -> int:
    """Returns the number of blocks over which a series depends on itself (Politis and White 2004, corrected 2009)."""
    count = len(series)
    if count < 8:
        return 1
    least = int(np.ceil(np.cbrt(count)))
    most = max(least, count // 4)
    centred = series - series.mean()
    if not (centred**2).sum() > 0:
        return least
    quiet = max(5, int(math.sqrt(math.log10(count))))
    last = min(count - 1, math.ceil(math.sqrt(count)) + quiet)
    covariances = np.array([float(centred[: count - lag] @ centred[lag:]) for lag in range(last + 1)])
    correlations = covariances / covariances[0]
    threshold = 2 * math.sqrt(math.log10(count) / count)
    significant = [lag for lag in range(1, last + 1) if abs(correlations[lag]) > threshold]
    quiets = [
        lag for lag in range(1, last - quiet + 2) if (np.abs(correlations[lag : lag + quiet]) < threshold).all()
    ]
    cutoff = quiets[0] - 1 if quiets else significant[-1] if significant else 1
    window = min(last, 2 * max(1, cutoff))
    lags = np.arange(1, window + 1)
    shares = lags / window
    tapered = 2 * np.where(shares <= 0.5, 1, 2 * (1 - shares)) * correlations[1 : window + 1]
    spectrum, slope = 1 + float(tapered.sum()), float((tapered * lags).sum())
    if spectrum <= 0:
        return most
    length = int(np.ceil(np.cbrt(2 * count * slope * slope / (4 / 3 * spectrum * spectrum))))
    return min(most, max(least, length))
