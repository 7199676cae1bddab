"""What a parser without distributions has to say: proposals, and that there is nothing more."""

from __future__ import annotations

from arcwise.annotation.states import Decisions, consistent
from arcwise.annotation.tagging import proposed_tags, seen_by_parser
from arcwise.annotation.thoughts import Thought, Thoughts
from arcwise.parsing.parser import ParseOptions, Parser
from arcwise.pipeline.pipeline import Pipeline
from arcwise.treebanks import Sentence, Treebank


def plain_thoughts(model: Parser, sentence: Sentence, decisions: Decisions) -> Thoughts:
    """The tree of a parser that gives no distribution over trees; around the decisions if it can, else beside them."""
    parser = model.parser if isinstance(model, Pipeline) else model
    around = parser.capabilities.keep_heads
    usable = consistent(decisions)
    known = usable if around else usable.without(range(1, len(usable) + 1))
    treebank = Treebank(known.in_bytes(sentence.conllu_bytes), source=sentence.treebank.source)
    seen = seen_by_parser(model, treebank)
    tags, upos = proposed_tags(model, treebank, seen)
    parsed = parser.parse(seen, options=ParseOptions(keep_heads=around))[0]
    words = []
    for i, (head, label) in enumerate(zip(parsed.heads[1:].tolist(), parsed.deprels, strict=True)):
        decided_head, decided_label = decisions.heads[i] >= 0, decisions.labels[i] != "_"
        words.append(
            Thought(
                decided_head,
                decided_label,
                decisions.heads[i] if decided_head else head,
                decisions.labels[i] if decided_label else label,
                tags=tags[i],
                upos_probability=upos[i],
            )
        )
    clash = decisions.clash()
    name = getattr(parser, "description", parser.kind)
    what = "around what is decided" if around else "whatever is decided"
    told = (
        f"this model ({name}) proposes a tree {what}, and says neither how sure it is nor what else there is"
    )
    return Thoughts(
        tuple(words), note=told if clash is None else clash.told, clash=() if clash is None else clash.words
    )
