"""Soft word clusters as parser features, as proposed by Smith & Smith 2007 (section 5.1).

The clustering model is an aspect model (Hofmann 1999; compare Pereira et al. 1993) of a word w and a
neighbour c:

    p(c | w) = Σ_z q(z | w) p(c | z)

trained by EM on the training text. A word's MISC gets ``Clusters``: the clusters with q(z | w) of at least a
quarter, each with its quarter (``z7q3``: cluster 7, at least three quarters), and ``any``, so that each
cluster of one end of an arc is also a feature alone. Train with ``list_columns = ["MISC:Clusters"]``.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from arcwise.treebanks import Treebank
from measuring.inputs import read

COLUMN = "MISC:Clusters"
NEIGHBOURS = 400
RARE = 2
"""Rarer words are pooled by suffix and tag."""
ITERATIONS = 40
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class SoftClusters:
    """q(z | w) of every word of the training text, and the log-likelihood after each step of EM."""

    posteriors: dict[str, Floats]
    likelihoods: tuple[float, ...]

    def values(self, word: str, tag: str) -> str:
        """Return the MISC value of a word.

        >>> clusters = SoftClusters({"dog": np.array([0.7, 0.3])}, ())
        >>> clusters.values("Dog", "NOUN"), clusters.values("cat", "NOUN")
        ('Clusters=any,z0q2,z1q1', 'Clusters=any')
        """
        q = self.posteriors.get(word.lower(), self.posteriors.get(ending(word, tag)))
        quarters = [] if q is None else [(z, min(int(4 * share), 3)) for z, share in enumerate(q)]
        return "Clusters=" + ",".join(["any", *(f"z{z}q{quarter}" for z, quarter in quarters if quarter)])

    def annotate(self, treebank: Treebank) -> Treebank:
        """Return the treebank with its words' clusters in MISC."""
        pairs = zip(treebank.column("form"), treebank.column("upos"), strict=True)
        return treebank.annotate(misc=[self.values(form, tag) for form, tag in pairs])


def ending(word: str, tag: str) -> str:
    """Return the name under which rare and unknown words are pooled."""
    return f"{tag} …{word.lower()[-3:]}"


def soft_clusters(
    train: Treebank, clusters: int, *, iterations: int = ITERATIONS, seed: int = 1
) -> SoftClusters:
    """Fit the model by EM from a random start, in O(iterations · words · neighbours · clusters)."""
    names, counts = neighbour_counts(train)
    rng = np.random.default_rng(seed)
    of_word = _normalised(rng.random((len(names), clusters)) + 0.5)
    of_cluster = _normalised(rng.random((clusters, counts.shape[1])) + 0.5)
    likelihoods = []
    for _ in range(iterations):
        expected = np.maximum(of_word @ of_cluster, 1e-300)
        likelihoods.append(float((counts * np.log(expected)).sum()))
        ratio = counts / expected  # the E-step: p(z | w, c) = q(z | w) p(c | z) / expected
        of_word, of_cluster = (
            _normalised(of_word * (ratio @ of_cluster.T)),
            _normalised(of_cluster * (of_word.T @ ratio)),
        )
    return SoftClusters(dict(zip(names, of_word, strict=True)), tuple(likelihoods))


def neighbour_counts(train: Treebank) -> tuple[list[str], Floats]:
    """Count how often each word has each of the most frequent words to its left and right."""
    forms = [form.lower() for form in train.column("form")]
    frequency = Counter(forms)
    frequent = {word: place for place, (word, _) in enumerate(frequency.most_common(NEIGHBOURS))}
    names = [
        form if frequency[form] >= RARE else ending(form, tag)
        for form, tag in zip(forms, train.column("upos"), strict=True)
    ]
    place_of = {name: place for place, name in enumerate(dict.fromkeys(names))}
    counts = np.zeros((len(place_of), 2 * (len(frequent) + 1)))
    outside = len(frequent)
    first = 0
    for length in train.sentence_lengths.tolist():
        codes = [outside, *(frequent.get(form, outside) for form in forms[first : first + length]), outside]
        for i in range(length):
            word = place_of[names[first + i]]
            counts[word, codes[i]] += 1
            counts[word, outside + 1 + codes[i + 2]] += 1
        first += length
    return list(place_of), counts


def _normalised(rows: Floats) -> Floats:
    sums = rows.sum(axis=1, keepdims=True)
    return np.where(sums > 0, rows / np.where(sums > 0, sums, 1), 1 / rows.shape[1])


@cache
def clusters_of(treebank: str, sentences: int, clusters: int) -> SoftClusters:
    """The clusters of the training part of a treebank, or of its first ``sentences``."""
    train = read(treebank, "train")
    return soft_clusters(train[:sentences] if sentences else train, clusters)
