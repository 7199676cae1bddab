"""Log-likelihoods of the DMV from an implementation that shares nothing with ours, as a fixture.

They were computed with ``batch_inside`` of github.com/WinnieHAN/mndmv at commit 0e5d951 (NumPy, in log space,
children generated from the outside inwards) under SciPy 1.17. That code is not part of this repository;
its input was the sentences and parameters below. EM ran on it alone: expected counts were central
differences of its log-likelihood (step 1e-5), re-estimated as relative frequencies.
"""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

from arcwise.induction import DMV, Features

TAGS = ("ADJ", "DET", "NOUN", "VERB")
# One word per tag, one run of letters per sentence; drawn by random.Random(2004).
SENTENCES = """
ADNADVDDA NVDNANV NV AD DA NANVA DNANVA AVANVD VNVNAVNV VVVV ADNNADV AD VDA DAVD NV NVVVDNAA DAA
DDVDN VVNVDNAA AN VDAVDD DAVD VNNDNVDD DAN ND AVVVAN VDDANAV VVNVNNA VV VDANVDV AA DVVADN DADADA
DDVVVVN VDVD VDAAA VDADV DVV DDNNDVAN AAD V DVANAVAAA DNVVDAVAA AVDAVADV NANADD VDDDVVD NAAVD
AVDDNVA VNNDNAN NAANDVDN AAN ANNVVV DVD VDNNVVVVN ADANNND V DDADNAVND VDNDA AANDDNVD VVDN"""
LETTERS = {tag[0]: tag for tag in TAGS}
CORPUS = [[LETTERS[letter] for letter in sentence] for sentence in SENTENCES.split()]
RANDOM_PARAMETERS = [
    -1019.2803162329167,
    -809.2351892795205,
    -830.9311994941532,
    -752.2961011668781,
    -854.8937122392589,
    -991.4065055334588,
    -821.0977776282631,
    -902.8114671534183,
    -1071.4777239598359,
    -863.2235280422234,
    -731.6244234447468,
]
"""For the parameters of the seeds 0, 1, …, 10."""
EM = [
    -813.8563191976929,
    -622.7420007114974,
    -603.9200068263334,
    -595.8818514120994,
    -591.0144350304735,
    -587.6903270488265,
    -585.3974765137349,
    -583.7953739101174,
    -582.608836465585,
    -581.642296807927,
    -580.7609345397775,
]
"""From the parameters of the seed 60, and after each of ten iterations of EM."""


def parameters(seed: int) -> DMV:
    """Distributions drawn by Python's generator, which gives the same numbers in every version."""
    generator = random.Random(seed)
    counts = [-math.log(1 - generator.random()) for _ in range(Features(TAGS).count)]
    return DMV.from_counts(TAGS, np.array(counts))


def test_the_corpus_is_that_of_the_fixture() -> None:
    assert len(CORPUS) == 60
    assert sum(map(len, CORPUS)) == 318
    assert len(RANDOM_PARAMETERS) == len(EM) == 11


@pytest.mark.parametrize("seed", range(11))
def test_log_likelihoods_of_random_parameters_are_those_of_another_implementation(seed: int) -> None:
    assert parameters(seed).log_likelihood(CORPUS) == pytest.approx(RANDOM_PARAMETERS[seed], rel=1e-12)


def test_em_from_a_random_start_climbs_as_in_another_implementation() -> None:
    grammar = parameters(60)
    values = [grammar.log_likelihood(CORPUS)]
    for _ in range(10):
        grammar = DMV.from_counts(TAGS, grammar.expected_counts(CORPUS))
        values.append(grammar.log_likelihood(CORPUS))
    assert values == pytest.approx(EM, rel=1e-8)
