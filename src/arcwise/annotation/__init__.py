"""What an editor of treebanks stands on: a file that is edited safely, and a parser that thinks along."""
