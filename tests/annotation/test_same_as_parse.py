"""The assistant gives the same probabilities as ``arcwise parse --confidence``, to the last digit."""

import numpy as np
import pytest
from typer.testing import CliRunner

from arcwise.annotation.assistant import Assistant
from arcwise.cli.main import app
from arcwise.models import load
from arcwise.treebanks import Treebank

ROWS = [
    ("The", "_", "_"),
    ("birds", "_", "_"),
    ("that", "_", "_"),
    ("we", "5", "_"),
    ("saw", "2", "acl:relcl"),
    ("sing", "_", "_"),
    ("in", "_", "_"),
    ("the", "_", "_"),
    ("garden", "_", "obl"),
    (".", "_", "_"),
]


@pytest.mark.parametrize("decided", [False, True])
def test_as_parse_says(tmp_path, decided):
    rows = [(form, head if decided else "_", label if decided else "_") for form, head, label in ROWS]
    text = "".join(
        f"{m}\t{form}\t_\t_\t_\t_\t{head}\t{label}\t_\t_\n" for m, (form, head, label) in enumerate(rows, 1)
    )
    source, target = tmp_path / "in.conllu", tmp_path / "out.conllu"
    source.write_text(text + "\n")
    keep = "lemma,upos,xpos,feats,head,deprel"
    command = ["parse", str(source), "--model", "en", "--output", str(target), "--keep", keep, "--confidence"]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output
    written = Treebank.read(target)[0]
    thoughts = Assistant(load("en")).suggest(Treebank.read(source)[0])
    assert [own.head for own in thoughts.words] == written.heads[1:].tolist()
    assert [own.label for own in thoughts.words] == written.deprels
    assert [own.tags["upos"] for own in thoughts.words] == written.upos
    told = [dict(pair.split("=") for pair in misc.split("|")) for misc in written.misc]
    assert [f"{own.probability:.4f}" for own in thoughts.words] == [own["HeadProb"] for own in told]
    assert [f"{own.label_probability:.4f}" for own in thoughts.words] == [own["DeprelProb"] for own in told]
    assert f"{thoughts.probability:.6g}" == written.comments["tree_prob"]
    assert f"{thoughts.entropy / np.log(2):.4f}" == written.comments["tree_entropy"]
