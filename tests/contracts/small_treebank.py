"""A small hand-written treebank that any parser must be able to learn by heart."""

from arcwise.treebanks import Treebank

_SENTENCES = [
    # form/UPOS/head/label; the last two have crossing arcs
    "The/DET/2/det cat/NOUN/3/nsubj sleeps/VERB/0/root",
    "A/DET/3/det small/ADJ/3/amod dog/NOUN/4/nsubj barked/VERB/0/root loudly/ADV/4/advmod",
    "Birds/NOUN/2/nsubj sing/VERB/0/root songs/NOUN/2/obj in/ADP/5/case spring/NOUN/2/obl",
    "Мама/NOUN/2/nsubj моет/VERB/0/root белую/ADJ/4/amod раму/NOUN/2/obj ./PUNCT/2/punct",
    "Çocuk/NOUN/3/nsubj kitabı/NOUN/3/obj okudu/VERB/0/root ./PUNCT/3/punct",
    "Η/DET/2/det γάτα/NOUN/3/nsubj τρώει/VERB/0/root ψάρι/NOUN/3/obj",
    "猫/NOUN/3/nsubj 魚/NOUN/3/obj 食べる/VERB/0/root",
    "Mary/PROPN/2/nsubj saw/VERB/0/root Tom/PROPN/2/obj and/CCONJ/5/cc laughed/VERB/2/conj",
]
_CROSSING = [
    "A/DET/2/det hearing/NOUN/4/nsubj:pass is/AUX/4/aux:pass scheduled/VERB/0/root on/ADP/6/case "
    "taxes/NOUN/2/nmod today/ADV/4/advmod",
    "What/PRON/4/obj did/AUX/3/aux you/PRON/5/nsubj buy/VERB/0/root think/VERB/4/ccomp",
]


def conllu(sentences: list[str]) -> str:
    """CoNLL-U of sentences written as ``form/UPOS/head/label``."""
    blocks = []
    for number, sentence in enumerate(sentences, start=1):
        rows = [f"# sent_id = s{number}\n"]
        for place, word in enumerate(sentence.split(), start=1):
            form, upos, head, label = word.split("/")
            rows.append(f"{place}\t{form}\t_\t{upos}\t_\t_\t{head}\t{label}\t_\t_\n")
        blocks.append("".join(rows) + "\n")
    return "".join(blocks)


def small_treebank(*, crossing: bool = False) -> Treebank:
    """Eight projective sentences; with ``crossing`` two more whose arcs cross."""
    return Treebank.from_string(conllu(_SENTENCES + (_CROSSING if crossing else [])), source="small.conllu")


def two_rooted() -> Treebank:
    """The small treebank and a sentence with two roots."""
    text = conllu([*_SENTENCES, "Yes/INTJ/0/root go/VERB/0/root now/ADV/2/advmod"])
    return Treebank.from_string(text, source="two_rooted.conllu")


def partial(whole: Treebank | None = None) -> Treebank:
    """The small treebank (or another one) with every third head, label and DEPS taken away."""
    whole = whole or small_treebank()
    heads = whole.heads.copy()
    labels, graphs = whole.column("deprel"), whole.column("deps")
    for word in range(0, len(heads), 3):
        heads[word] = -1
        labels[word] = graphs[word] = "_"
    return whole.annotate(heads=heads, deprel=labels, deps=graphs)
