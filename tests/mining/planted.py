"""A small treebank of a toy grammar, with errors planted at known words."""

from __future__ import annotations

import numpy as np

from arcwise.treebanks import Treebank

NOUNS = ["dog", "cat", "bird", "child", "farmer", "horse", "teacher", "doctor", "river", "garden"]
VERBS = ["sees", "likes", "hears", "follows", "finds", "watches"]
ADJECTIVES = ["old", "small", "happy", "brown", "quiet"]
PREPOSITIONS = ["in", "near", "behind", "with"]
ADVERBS = ["often", "never", "quietly"]


def sentence(random: np.random.Generator) -> list[list[str]]:
    """[form, upos, head, label] of each word: NP V NP [PP] [ADV] PUNCT."""
    rows: list[list[str]] = []

    def phrase(label: str, preposition: bool = False) -> int:
        first = len(rows)
        if preposition:
            rows.append([str(random.choice(PREPOSITIONS)), "ADP", "", "case"])
        rows.append([str(random.choice(["the", "a"])), "DET", "", "det"])
        if random.random() < 0.4:
            rows.append([str(random.choice(ADJECTIVES)), "ADJ", "", "amod"])
        rows.append([str(random.choice(NOUNS)), "NOUN", "verb", label])
        for row in rows[first:-1]:
            row[2] = str(len(rows))
        return len(rows)

    phrase("nsubj")
    rows.append([str(random.choice(VERBS)), "VERB", "0", "root"])
    verb = len(rows)
    phrase("obj")
    if random.random() < 0.5:
        phrase("obl", preposition=True)
    if random.random() < 0.3:
        rows.append([str(random.choice(ADVERBS)), "ADV", "verb", "advmod"])
    rows.append([".", "PUNCT", "verb", "punct"])
    for row in rows:
        row[2] = row[2].replace("verb", str(verb))
    return rows


def conllu(sentences: list[list[list[str]]]) -> str:
    blocks = []
    for number, rows in enumerate(sentences, 1):
        lines = [f"# sent_id = s{number}", "# text = " + " ".join(form for form, *_ in rows)]
        lines += [
            f"{i}\t{form}\t{form}\t{upos}\t_\t_\t{head}\t{label}\t_\t_"
            for i, (form, upos, head, label) in enumerate(rows, 1)
        ]
        blocks.append("\n".join(lines) + "\n\n")
    return "".join(blocks)


def toy(count: int, *, seed: int = 1) -> list[list[list[str]]]:
    random = np.random.default_rng(seed)
    return [sentence(random) for _ in range(count)]


def planted(count: int, *, every: int = 10, seed: int = 1) -> tuple[Treebank, set[tuple[int, int]]]:
    """A treebank in which every ``every``-th sentence has one wrong arc, and these words (sentence, word)."""
    sentences = toy(count, seed=seed)
    wrong = set()
    for number in range(0, count, every):
        rows = sentences[number]
        kind = (number // every) % 3
        nouns = [i for i, row in enumerate(rows) if row[1] == "NOUN"]
        if kind == 0:  # the object as a subject
            rows[nouns[1]][3] = "nsubj"
            wrong.add((number, nouns[1] + 1))
        elif kind == 1:  # a determiner on the verb
            determiner = next(i for i, row in enumerate(rows) if row[1] == "DET")
            verb = next(i for i, row in enumerate(rows) if row[1] == "VERB")
            rows[determiner][2] = str(verb + 1)
            wrong.add((number, determiner + 1))
        else:  # the subject as an oblique
            rows[nouns[0]][3] = "obl"
            wrong.add((number, nouns[0] + 1))
    return Treebank.from_string(conllu(sentences)), wrong
