"""Tokenizer (with multiword tokens) and tagger (with lemmatizer), each trained on a treebank."""
