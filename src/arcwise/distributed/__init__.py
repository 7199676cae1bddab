"""Parse corpora of any size: shard by shard with many workers, or inside another engine.

>>> from arcwise.distributed import CorpusOptions, parse_corpus
>>> import tempfile, pathlib
>>> folder = pathlib.Path(tempfile.mkdtemp())
>>> _ = (folder / "a.jsonl").write_text('{"text": "The birds sing."}\\n{"text": 7}\\n')
>>> summary = parse_corpus(str(folder / "a.jsonl"), folder / "parsed", options=CorpusOptions(packing="none"))
>>> summary.sentences, summary.errors
(1, 1)
>>> (folder / "parsed" / "a.jsonl.00000.conllu").read_text().splitlines()[:2]
['# newdoc id = a.jsonl:1', '# sent_id = a.jsonl:1-1']
"""

from arcwise.deprecation import renamed
from arcwise.distributed.job import CorpusOptions, Summary, parse_corpus
from arcwise.distributed.parser import CorpusParser
from arcwise.distributed.progress import JobProgress
from arcwise.pipeline.text_fields import TextFields

__all__ = ["CorpusOptions", "CorpusParser", "JobProgress", "Summary", "TextFields", "parse_corpus"]

__getattr__ = renamed(__name__, {"Parser": "arcwise.distributed:CorpusParser"})
