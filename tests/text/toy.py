"""A small treebank of our own, from which a whole pipeline can be learned."""

from itertools import product

from arcwise.treebanks import Treebank

NOUNS = {
    "dog": "dogs",
    "cat": "cats",
    "bird": "birds",
    "child": "children",
    "teacher": "teachers",
    "robin": "robins",
}
RARE_NOUNS = {
    w: w + "s"
    for w in ("beagle", "kitten", "sparrow", "pupil", "tutor", "otter", "badger", "falcon", "mole", "hamster")
}
RARE_VERBS = {
    w: w + "s"
    for w in ("follow", "admire", "greet", "visit", "bring", "trust", "order", "answer", "paint", "meet")
}
VERBS = {"see": "sees", "hear": "hears", "chase": "chases", "like": "likes", "help": "helps"}


def _row(
    number: int, form: str, lemma: str, upos: str, feats: str, head: int, label: str, misc: str = "_"
) -> str:
    return f"{number}\t{form}\t{lemma}\t{upos}\t{upos[0]}\t{feats}\t{head}\t{label}\t_\t{misc}\n"


def plain_sentence(subject: str, verb: str, thing: str) -> str:
    """The dog sees birds."""
    plural, verb_form = (NOUNS | RARE_NOUNS)[thing], (VERBS | RARE_VERBS)[verb]
    return (
        f"# text = The {subject} {verb_form} {plural}.\n"
        + _row(1, "The", "the", "DET", "_", 2, "det")
        + _row(2, subject, subject, "NOUN", "Number=Sing", 3, "nsubj")
        + _row(3, verb_form, verb, "VERB", "Number=Sing", 0, "root")
        + _row(4, plural, thing, "NOUN", "Number=Plur", 3, "obj", "SpaceAfter=No")
        + _row(5, ".", ".", "PUNCT", "_", 3, "punct")
        + "\n"
    )


def negated_sentence(subject: str, verb: str) -> str:
    """Dogs don't see! (one multiword token)"""
    plural = NOUNS[subject].capitalize()
    return (
        f"# text = {plural} don't {verb}!\n"
        + _row(1, plural, subject, "NOUN", "Number=Plur", 4, "nsubj")
        + "2-3\tdon't\t_\t_\t_\t_\t_\t_\t_\t_\n"
        + _row(2, "do", "do", "AUX", "_", 4, "aux")
        + _row(3, "n't", "not", "PART", "_", 4, "advmod")
        + _row(4, verb, verb, "VERB", "_", 0, "root", "SpaceAfter=No")
        + _row(5, "!", "!", "PUNCT", "_", 4, "punct")
        + "\n"
    )


def toy_treebank() -> Treebank:
    """220 sentences in paragraphs of ten; the last ten have words that occur nowhere else."""
    sentences = [plain_sentence(*words) for words in product(NOUNS, VERBS, NOUNS)]
    sentences += [negated_sentence(*words) for words in product(NOUNS, VERBS)]
    rare = list(zip(RARE_NOUNS, RARE_VERBS, strict=True))
    sentences += [plain_sentence(noun, verb, "cat") for noun, verb in rare[:5]]
    sentences += [plain_sentence("dog", verb, noun) for noun, verb in rare[5:]]
    marked = [("# newpar\n" if i % 10 == 0 else "") + s for i, s in enumerate(sentences)]
    return Treebank.from_string("".join(marked))
