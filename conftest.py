"""Which examples are run: those of ``arcwise.torch`` where torch is (tests/tensors say why they are skipped where it is not)."""

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("torch") else ["src/arcwise/torch/*"]
