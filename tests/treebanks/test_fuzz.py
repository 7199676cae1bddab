"""Ten thousand mutated files meet nothing but clean errors."""

import random

import pytest

from arcwise import InputError, Treebank
from arcwise.treebanks import COLUMNS, Sentence
from treebanks.samples import ALL

SPLICES = [
    b"\t",
    b"\n",
    b"\r",
    b"\n\n",
    b"#",
    b"0",
    b"-",
    b".",
    b"_",
    b"=",
    b"|",
    b"\xff",
    b"\x00",
    b" ",
    b"99999999999",
]


def mutated(data: bytes, rng: random.Random) -> bytes:
    out = bytearray(data)
    for _ in range(rng.randint(1, 6)):
        at = rng.randrange(len(out) + 1)
        match rng.randrange(5):
            case 0:
                out[at:at] = rng.choice(SPLICES)
            case 1:
                del out[at : at + rng.randint(1, 30)]
            case 2:
                out[at : at + 1] = bytes([rng.randrange(256)])
            case 3:
                piece = out[at : at + rng.randint(1, 200)]
                other = rng.randrange(len(out) + 1)
                out[other:other] = piece
            case 4:
                del out[at:]
        if not out:
            break
    return bytes(out)


def use(sentence: Sentence, sound: bool) -> None:
    for name in ("forms", "lemmas", "upos", "xpos", "feats", "deprels", "deps", "misc"):
        assert len(getattr(sentence, name)) == len(sentence)
    assert len(sentence.heads) == len(sentence) + 1
    assert all(len(row) == len(COLUMNS) for row in sentence.rows)
    assert isinstance(sentence.text, str)
    assert isinstance(sentence.comments, dict)
    if sound:
        assert len(sentence.tree) == len(sentence)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(10))
def test_mutated_files(part: int) -> None:
    rng = random.Random(part)
    refused = 0
    for _ in range(1000):
        data = mutated(ALL.encode(), rng)
        lenient = Treebank(data, strict=False)
        if len(lenient):
            assert b"".join(s.source_bytes for s in lenient) == data
        try:
            strict = Treebank(data)
        except InputError as error:
            refused += 1
            assert str(error) == str(lenient.problems[0])
            assert "\n" not in str(error)
        else:
            assert not lenient.problems
            assert strict.annotate(heads=strict.heads).data == data
            if b"\r" not in data:  # a field with a carriage return is read, but never written
                assert strict.annotate(misc=strict.column("misc")).data == data
        for sentence in lenient:
            use(sentence, sound=not lenient.problems)
    assert 0 < refused < 1000
