"""Text: tokenizer and multiword tokens, tagger and lemmas, each learned from a treebank."""
