"""The models in the folder ``models``: each is on the list, matches its hash, and parses without torch."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from arcwise.models.installed import known_models

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "models"
SENTENCES = {
    "da": ("Hun læser en bog i haven.", "læser"),
    "de": ("Die Katze schläft auf dem Sofa.", "schläft"),
    "en-large": ("The cat sleeps on the sofa.", "sleeps"),
    "es": ("La niña lee un libro en el jardín.", "lee"),
    "ja": ("猫がソファで寝ている。", "寝"),
    "nl": ("De kat slaapt op de bank.", "slaapt"),
    "pt": ("A menina lê um livro no jardim.", "lê"),
    "sl": ("Deklica bere knjigo na vrtu.", "bere"),
    "sv": ("Flickan läser en bok i trädgården.", "läser"),
}
"""A sentence for each model, and the form of its root."""
PARSE = """
import json, sys
import arcwise
sentence, = arcwise.load(sys.argv[1])(sys.argv[2]).sentences
words = [sentence.forms, sentence.head_ids, list(sentence.head_probabilities)]
print(json.dumps([*words, "torch" in sys.modules]))
"""


def test_the_folder_and_the_list_agree() -> None:
    assert {path.stem for path in FOLDER.glob("*.arcwise")} == set(known_models())
    assert {path.stem for path in FOLDER.glob("*.md")} == set(known_models())


@pytest.mark.parametrize("name", known_models())
def test_a_model_is_the_file_that_the_list_describes(name: str) -> None:
    model, data = known_models()[name], (FOLDER / f"{name}.arcwise").read_bytes()
    assert (len(data), hashlib.sha256(data).hexdigest()) == (model.bytes, model.sha256)
    assert name == "en-large" or len(data) <= 5_000_000
    card = (FOLDER / f"{name}.md").read_text()
    described = (model.treebank, model.licence, f"value: {model.scores['LAS']:.2f}", "Training command")
    assert [text for text in described if text not in card] == []
    assert "Expected calibration error on the raw text" in card
    assert "NC" not in model.licence


@pytest.mark.slow
@pytest.mark.parametrize("name", known_models())
def test_a_model_parses_without_torch(name: str) -> None:
    text, root = SENTENCES[name]
    run = [sys.executable, "-c", PARSE, str(FOLDER / f"{name}.arcwise"), text]
    output = subprocess.run(run, capture_output=True, check=True).stdout
    forms, heads, probabilities, with_torch = json.loads(output)
    assert not with_torch
    assert forms[-1] in (".", "。")
    assert forms[heads.index(0) - 1] == root
    assert all(0 < probability <= 1 for probability in probabilities)


def test_the_guide_lists_every_model_with_its_scores() -> None:
    guide = (ROOT / "docs" / "how-to" / "install-models.md").read_text()
    rows = re.findall(r"^\| `([\w-]+)` \| .* \| ([\d.]+) \| ([\d.]+) \|$", guide, re.MULTILINE)
    scores = {n: (f"{m.scores['UPOS']:.2f}", f"{m.scores['LAS']:.2f}") for n, m in known_models().items()}
    assert {name: (upos, las) for name, upos, las in rows} == scores
