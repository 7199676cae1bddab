"""Web pages and JSON APIs: ``arcwise annotate`` on this machine, ``arcwise serve`` (extra ``web``)."""
