"""Pages as a browser shows them: a screenshot in headless Chromium has words and arcs, in light and in dark
mode."""

import shutil
import subprocess
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

from arcwise.treebanks import Sentence, Treebank
from arcwise.trees import Tree
from arcwise.visual import html_page

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
WIDTH, HEIGHT = 900, 1400
pytestmark = pytest.mark.skipif(BROWSER is None, reason="needs Chromium for a screenshot")


def screenshot(page: str, folder: Path, *, dark: bool) -> np.ndarray:
    """The page as an array of pixels (height, width, 3), 0..1."""
    from matplotlib.image import imread

    source, picture = folder / "page.html", folder / "page.png"
    source.write_text(page)
    command = [
        str(BROWSER),
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--hide-scrollbars",
        f"--user-data-dir={folder / 'profile'}",
        f"--blink-settings=preferredColorScheme={0 if dark else 1}",
        f"--window-size={WIDTH},{HEIGHT}",
        f"--screenshot={picture}",
        source.as_uri(),
    ]
    done = subprocess.run(command, capture_output=True, timeout=120, check=False)
    if not picture.exists():
        pytest.skip(f"Chromium makes no screenshot here ({done.stderr.decode(errors='replace')[-200:]})")
    return np.asarray(imread(picture))[:, :, :3]


def unsure_sentence() -> Sentence:
    tree = Tree.from_heads([2, 0, 4, 2, 7, 7, 2], ["nsubj", "root", "det", "obj", "case", "det", "obl"])
    made = Sentence.from_words(["I", "saw", "the", "man", "with", "a", "telescope"], tree=tree)
    misc = [f"HeadProb={p}" for p in (1, 1, 0.99, 0.98, 0.96, 1, 0.54)]
    return made.annotate(misc=misc)


@pytest.mark.slow
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_a_page_has_words_and_arcs(tmp_path: Path, dark: bool) -> None:
    sample = Treebank.read(Path(str(files("arcwise") / "data")) / "sample-gold.conllu")
    pixels = screenshot(html_page([unsure_sentence(), *sample[:3]]), tmp_path, dark=dark)
    page = pixels[2, 2]
    assert (page.mean() < 0.3) if dark else (page.mean() > 0.8)
    differs = np.abs(pixels - page).max(axis=2) > 0.3
    assert 0.005 < differs.mean() < 0.5
    rows, columns = differs.any(axis=1), differs.any(axis=0)
    assert rows.sum() > HEIGHT / 5
    assert columns[: WIDTH // 2].any()
    assert columns[WIDTH // 2 :].any()
    coloured = (pixels.max(axis=2) - pixels.min(axis=2)) > 0.25
    assert coloured.mean() > 0.0005  # arcs have colours, words have none


@pytest.mark.slow
def test_a_right_to_left_sentence_starts_on_the_right(tmp_path: Path) -> None:
    labels = ["root", "nsubj", "obj", "amod", "punct"]
    tree = Tree.from_heads([0, 1, 1, 3, 1], labels)
    sentence = Sentence.from_words(["يقرأ", "الطالب", "كتابا", "جديدا", "."], tree=tree)
    pixels = screenshot(html_page([sentence]), tmp_path, dark=False)
    violet = (pixels[:, :, 2] - pixels[:, :, 1] > 0.4) & (pixels[:, :, 0] - pixels[:, :, 1] > 0.15)
    grey = (np.abs(pixels - [0x85 / 255, 0x92 / 255, 0xA3 / 255]) < 0.02).all(axis=2)
    root, punctuation = (np.nonzero(mask)[1] for mask in (violet, grey))
    assert len(root) > 20
    assert len(punctuation) > 20
    assert root.mean() > WIDTH / 2  # the first word, the root, is on the right
    assert punctuation.min() < WIDTH / 2 < root.min()
