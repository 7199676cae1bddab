"""Pictures look the same in programs that know no style sheets, and become PNG and PDF."""

import io
import re
import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from arcwise import Sentence, Tree, Treebank
from arcwise.cli.main import run
from arcwise.visual import convert_svg, svg
from arcwise.visual.palette import LIGHT
from arcwise.visual.svg import SCALE

ROOT = Path(__file__).parents[2]
SAMPLE = ROOT / "src/arcwise/data/sample-gold.conllu"
IMAGES = sorted((ROOT / "docs/images").glob("*.svg"))


def sentence() -> Sentence:
    """Every kind of thing that is drawn: all kinds of arcs, doubt, a multiword token, an unknown head."""
    rows = [
        ("1-2", "don't", "_", "_", "_", "_"),
        ("1", "do", "AUX", "4", "aux", "HeadProb=0.5"),
        ("2", "n't", "PART", "4", "advmod", "HeadProb=0.9"),
        ("3", "letters", "NOUN", "4", "obj", "HeadProb=1"),
        ("4", "come", "VERB", "0", "root", "HeadProb=0.8"),
        ("5", "today", "ADV", "_", "_", "_"),
        ("6", "home", "NOUN", "3", "nmod", "HeadProb=0.4"),
    ]
    text = "".join(
        f"{i}\t{form}\t_\t{tag}\t_\t_\t{h}\t{label}\t_\t{m}\n" for i, form, tag, h, label, m in rows
    )
    return Treebank.from_string(text + "\n")[0]


def pixels(png: bytes) -> np.ndarray:
    from matplotlib.image import imread

    found: np.ndarray = np.asarray(imread(io.BytesIO(png)))[:, :, :3]
    return found


def shares(picture: np.ndarray) -> dict[str, float]:
    """How much of a picture has each colour of the palette."""
    colours = {name: [int(c[i : i + 2], 16) / 255 for i in (1, 3, 5)] for name, c in LIGHT.items()}
    return {name: float((np.abs(picture - c).max(axis=2) < 0.02).mean()) for name, c in colours.items()}


@pytest.mark.parametrize("picture", [svg(sentence()), *(p.read_text() for p in IMAGES)], ids=lambda p: p[-9:])
def test_every_element_has_plain_colours(picture: str) -> None:
    """Without its style sheet the picture is complete: what is drawn has a colour from the palette, its own
    or its group's."""
    palette = {*LIGHT.values(), "none"}

    def check(element: ElementTree.Element, fill: str, stroke: str) -> int:
        fill, stroke = element.get("fill", fill), element.get("stroke", stroke)
        tag = element.tag.partition("}")[2]
        drawn = tag in ("rect", "path", "text")
        if drawn:
            assert fill in palette, ElementTree.tostring(element)
            assert (stroke or fill) in palette - {"none"}
        if tag == "text":
            assert float(element.get("font-size", "nan")) > 0
        assert "style" not in element.attrib
        return drawn + sum(check(child, fill, stroke) for child in element)

    root = ElementTree.fromstring(picture)
    assert root.get("text-anchor") == "middle"
    assert check(root, "", "") > 15


def test_variables_are_for_dark_mode_alone() -> None:
    (style,) = re.findall(r"<style>(.*?)</style>", svg(sentence()), re.DOTALL)
    before, media, dark = style.partition("@media (prefers-color-scheme: dark)")
    assert media
    assert "var(" not in before
    assert "#" not in before
    assert "var(" in dark


@pytest.fixture
def needs_cairo() -> None:
    try:
        import cairosvg  # noqa: F401
    except (ImportError, OSError) as error:
        pytest.skip(f"needs cairosvg and the library cairo ({error})")


@pytest.mark.slow
@pytest.mark.usefixtures("needs_cairo")
@pytest.mark.parametrize("image", IMAGES, ids=lambda p: p.name)
def test_documents_have_readable_pictures(image: Path) -> None:
    """As a program without style sheets shows them: mostly paper, with ink and the colours of arcs."""
    found = shares(pixels(convert_svg(image.read_text(), "png")))
    assert found["paper"] > 0.8
    assert min(found[name] for name in ("ink", "quiet", "core", "other", "function", "root")) > 0.0001


@pytest.mark.usefixtures("needs_cairo")
def test_png_and_pdf(tmp_path: Path) -> None:
    names = [f"tree.{kind}" for kind in ("svg", "png", "pdf")]
    arguments = [f"--{name[-3:]}={tmp_path / name}" for name in names]
    assert run(["show", str(SAMPLE), "-s", "letter-1", *arguments]) == 0
    drawn = ElementTree.parse(tmp_path / "tree.svg").getroot()
    height, width, _ = pixels((tmp_path / "tree.png").read_bytes()).shape
    assert (width, height) == (
        SCALE * float(drawn.get("width", "")),
        SCALE * float(drawn.get("height", "")),
    )
    assert (tmp_path / "tree.pdf").read_bytes().startswith(b"%PDF-")
    assert run(["show", str(SAMPLE), "-s", "1-2", "--png", str(tmp_path / "two.png")]) == 2


@pytest.mark.parametrize("option, ending", [("svg", "png"), ("svg", "pdf"), ("html", "svg"), ("png", "pdf")])
def test_a_name_of_another_kind(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], option: str, ending: str
) -> None:
    target = tmp_path / f"tree.{ending}"
    assert run(["show", str(SAMPLE), f"--{option}", str(target)]) == 2
    told = capsys.readouterr().err
    assert f"--{option}: found {target}, expected a name that ends in .{option}" in told
    assert f"--{ending} {target}" in told
    assert not target.exists()


def test_without_cairosvg_it_is_said_before_work_starts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "cairosvg", None)
    assert run(["show", str(SAMPLE), "-s", "99", "--png", str(tmp_path / "tree.png")]) == 2
    assert "this needs cairosvg, which is not installed" in capsys.readouterr().err


def test_a_label_and_its_doubt_stand_side_by_side() -> None:
    made = Sentence.from_words(["a", "b"], tree=Tree.from_heads([2, 0], ["nsubj", "root"]))
    root = ElementTree.fromstring(svg(made, probabilities=[0.5, 1.0]))
    (label, doubt) = [e for e in root.iter() if e.get("class") in ("label", "doubt")][-2:]
    assert (label.text, label.get("text-anchor")) == ("nsubj", "end")
    assert (doubt.text, doubt.get("text-anchor")) == ("head 50%", "start")
    assert 0 < float(doubt.get("x", "")) - float(label.get("x", "")) < 6
