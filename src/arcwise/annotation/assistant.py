"""``Assistant``: a parser that thinks along while a sentence is annotated. Scores once a sentence, then exact inference under the decisions."""

from __future__ import annotations

from arcwise.annotation.thoughts import Reason, Thought, Thoughts
from arcwise.parsing.parser import Parser
from arcwise.treebanks import Sentence


class Assistant:
    """What a parser, or a pipeline, has to say of sentences. Decisions are read from the sentence (``annotation.states``).

    What it says equals what ``arcwise parse --keep lemma,upos,xpos,feats,head,deprel --confidence`` says. It may be asked from several threads.
    """

    def __init__(self, parser: Parser, *, alternatives: int = 10, least: float = 0.001, kept: int = 64) -> None:
        """``alternatives``: so many of each word at most, none below the probability ``least``; ``kept``: of so many sentences scores are kept."""
        raise NotImplementedError

    @property
    def gives_probabilities(self) -> bool:
        """Whether the parser gives distributions; others propose trees alone."""
        raise NotImplementedError

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels that the parser gives."""
        raise NotImplementedError

    def think(self, sentence: Sentence, *, gains: bool = False) -> Thoughts:
        """Proposals, probabilities and alternatives under all decisions of the sentence; ``gains``: also what each answer would settle."""
        raise NotImplementedError

    def reconsider(self, sentence: Sentence, word: int) -> Thought:
        """The thought about a word as if it were open, all other decisions standing."""
        raise NotImplementedError

    def because(self, after: Sentence, before: Sentence | None = None) -> tuple[Reason, ...]:
        """Why proposals of ``after`` are not those of ``before`` (None: of the sentence with nothing decided): for each word whose
        proposal is another one, the one decision without which it would be what it was."""
        raise NotImplementedError
