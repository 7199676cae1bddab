"""The page of ``arcwise annotate`` and the server that hands it out."""
