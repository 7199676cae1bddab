"""Public names of 0.2 that were renamed in 0.3 still work, with a warning that names the current one."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest

FORMER = {
    "arcwise.parsing.teaching:Teaching": "Distillation",
    "arcwise.parsing.teaching:TeachingConfig": "DistillationConfig",
    "arcwise.parsing.teaching:Lessons": "DistillationData",
    "arcwise.models.teaching:open_teacher": "open_teacher",
    "arcwise.models.teaching:teaching_of": "load_distillation",
    "arcwise.models.teaching:read_teaching": "read_distillation_config",
    "arcwise.annotation.document:Document": "AnnotationDocument",
    "arcwise.distributed:Parser": "CorpusParser",
    "arcwise.engine:Crew": "WorkerPool",
    "arcwise.induction.global_search:Task": "InductionTask",
    "arcwise.visual:converted": "convert_svg",
}


@pytest.mark.parametrize("path", FORMER)
def test_a_former_name_warns_and_is_the_current_one(path: str) -> None:
    module, _, name = path.partition(":")
    with pytest.warns(DeprecationWarning, match=FORMER[path]):
        value = getattr(import_module(module), name)
    assert value.__name__ == FORMER[path]


def test_the_former_name_of_the_torch_layer() -> None:
    torch = pytest.importorskip("arcwise.torch", reason="needs torch", exc_type=ImportError)
    with pytest.warns(DeprecationWarning, match="TreeCRF"):
        assert torch.TreeDistribution is torch.TreeCRF


def test_a_distribution_of_several_sentences_becomes_a_batch() -> None:
    from arcwise import TreeDistribution, TreeDistributionBatch

    with pytest.warns(DeprecationWarning, match="TreeDistributionBatch"):
        trees = TreeDistribution([np.zeros((3, 3)), np.zeros((4, 4))], projective=True, single_root=True)
    assert isinstance(trees, TreeDistributionBatch)
    assert len(trees) == 2


def test_bytes_of_a_sentence_under_their_former_name() -> None:
    from contracts.small_treebank import small_treebank

    sentence = small_treebank()[0]
    with pytest.warns(DeprecationWarning, match="source_bytes"):
        assert sentence.own_bytes == sentence.source_bytes
