"""Annotating a treebank with a parser that thinks along: what is decided, what is proposed, what to ask next, what was learned."""
