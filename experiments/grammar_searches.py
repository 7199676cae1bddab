"""Computations of ``experiments.gormley2013``: searches, estimates, learners.

Each returns JSON-serialisable values, so that it can run in a separate process.
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np
from measuring.trainings import treebank_folder

from arcwise import native
from arcwise.induction import DMV, ArcShare, TagSentences, induce_globally
from arcwise.induction.dmv import SIDES, Features, Heads, log_ratio
from arcwise.induction.global_search.count import CountSearch
from arcwise.induction.global_search.estimate import estimate_tree
from arcwise.induction.global_search.options import CountOptions, ThetaOptions
from arcwise.induction.global_search.problem import Incumbent, InductionTask
from arcwise.induction.global_search.rlt import box_constraints, product_row
from arcwise.induction.global_search.safe_bounds import RowTable
from arcwise.induction.global_search.theta import ThetaSearch
from arcwise.induction.global_search.theta_program import ThetaProgram
from arcwise.induction.parser import attachment_accuracy
from arcwise.induction.relaxed_em import RelaxedParser, relaxed_restart
from arcwise.treebanks import Treebank

WSJ = "English-WSJsample/wsj10-200.conllu.xz"
FIRST_SHARE = 45 / 480
"""Share of a global search's time spent on Viterbi EM for the first incumbent (the paper: 45 minutes of 8
hours).
"""
SHARE = 0.75
"""Share of arcs that must follow the universal rules, under the constraint."""
ROWS_PER_ROUND = 1000
"""RLT rows that a round of ``root_bound`` adds."""
CUT_ROUNDS = 1
"""Rounds of new tangents per node of the search over parameters on 200 sentences."""


TAGS = ("Adjective", "Noun", "Verb")
SYNTHETIC_SEED = 7
"""Of the seeds 0 to 11, the one whose five sentences have most nearly the paper's number of products."""
PAPER_PRODUCTS = 320_126
"""Products of two constraints of the paper's five sentences."""
_CHILDREN = {
    ("left", "Verb"): (0.05, 0.90, 0.05),
    ("right", "Verb"): (0.15, 0.80, 0.05),
    ("left", "Noun"): (0.90, 0.08, 0.02),
    ("right", "Noun"): (0.30, 0.40, 0.30),
    ("left", "Adjective"): (0.80, 0.10, 0.10),
    ("right", "Adjective"): (0.60, 0.30, 0.10),
}
"""Probabilities of the child's tag: subjects before verbs, objects after them, adjectives before nouns."""
_CONTINUE = {
    ("left", "Verb"): (0.80, 0.10),
    ("right", "Verb"): (0.60, 0.15),
    ("left", "Noun"): (0.45, 0.10),
    ("right", "Noun"): (0.05, 0.05),
    ("left", "Adjective"): (0.05, 0.05),
    ("right", "Adjective"): (0.05, 0.05),
}
"""Probabilities of a first and of a further child, low enough for short sentences."""


def english_grammar() -> DMV:
    """A DMV over verbs, nouns and adjectives that favours short sentences in English order.

    The paper describes its grammar so, without its parameters.
    """
    features = Features(TAGS)
    probabilities = np.zeros(features.count)
    probabilities[: len(TAGS)] = (0.02, 0.08, 0.90)
    for (side, head), children in _CHILDREN.items():
        for child, share in enumerate(children):
            probabilities[features.child(SIDES.index(side), TAGS.index(head), child)] = share
        for later, share in enumerate(_CONTINUE[side, head]):
            decision = partial(features.decision, SIDES.index(side), TAGS.index(head), later)
            probabilities[decision(1)], probabilities[decision(0)] = share, 1.0 - share
    return DMV(TAGS, np.log(probabilities))


def synthetic(count: int, *, longest: int = 8, seed: int = SYNTHETIC_SEED) -> TagSentences:
    """Sentences of the grammar, of 2 to ``longest`` tokens."""
    return english_grammar().sample(count, seed=seed, min_length=2, max_length=longest)[0]


def product_count(corpus: TagSentences) -> int:
    """Number of products of two constraints, the RLT rows of the root."""
    program = ThetaProgram(InductionTask(corpus))
    constraints = len(box_constraints(program, program.root()))
    return constraints * (constraints + 1) // 2


SECOND_LEVEL = "Max.1k, second level"
"""Max.1k with as many products of three constraints."""


def search_of(corpus: TagSentences, method: str) -> CountSearch | ThetaSearch:
    """The search over parameters with the relaxation, or over counts."""
    task = InductionTask(corpus)
    if method == "count":
        return CountSearch(task, seed=1)
    if method == SECOND_LEVEL:
        return ThetaSearch(task, seed=1, options=ThetaOptions(rlt="Max.1k", second_level=1000))
    return ThetaSearch(task, seed=1, options=ThetaOptions(rlt=method))


def optimum(corpus: TagSentences) -> float:
    """The optimal log-likelihood."""
    return induce_globally(corpus, epsilon=1e-6, seed=1).lower


def nested_pairs(constraints: int, share: float) -> list[tuple[int, int]]:
    """A random share of all pairs of constraints; a larger share contains every smaller one."""
    whole = constraints * (constraints + 1) // 2
    drawn = np.sort(np.random.default_rng(1).permutation(whole)[: round(share * whole)])
    # Pair number j(j+1)/2 + i is (i, j).
    later = np.searchsorted(np.cumsum(np.arange(1, constraints + 1)), drawn, side="right")
    return list(zip((drawn - later * (later + 1) // 2).tolist(), later.tolist(), strict=True))


def root_bound(corpus: TagSentences, share: float, seconds: float) -> tuple[float, int, float, bool]:
    """(share, rows, bound, whether it is the relaxation's optimum) of a share of all products at the root.

    Adds the most violated rows round by round: hundreds of thousands at once are too many for the solver. The
    bound holds after every round; it is that of all rows when none is violated any more.
    """
    until = time.monotonic() + seconds
    program = ThetaProgram(InductionTask(corpus))
    root, products = program.root(), program.new_products()
    constraints = box_constraints(program, root)
    pairs = nested_pairs(len(constraints), share)
    rows = [product_row([constraints[i], constraints[j]], products) for i, j in pairs]
    table = RowTable.of((r.row, r.lower, np.inf) for r in rows)
    sizes = np.full(len(rows), 1e-9)
    np.maximum.at(sizes, table.rows, np.abs(table.values))
    active, bound = np.zeros(0, np.int64), 0.0
    while True:
        relaxation = program.solve(
            root,
            extra=[rows[i] for i in active],
            products=products,
            cut_rounds=2,
            time_limit=max(until - time.monotonic(), 0.0),
        )
        bound = min(bound, relaxation.bound)
        if relaxation.status != "solved" or not rows:
            return share, len(rows), bound, relaxation.status == "solved"
        activity = np.bincount(table.rows, table.values * relaxation.point[table.columns], len(rows))
        violation = (table.lower - activity) / sizes
        violation[active] = 0.0
        worst = np.argsort(-violation, kind="stable")[:ROWS_PER_ROUND]
        worst = worst[violation[worst] > 1e-7]
        if not len(worst):
            return share, len(rows), bound, True
        active = np.concatenate([active, worst])


def trace_of(corpus: TagSentences, method: str, seconds: float) -> dict[str, Any]:
    """(seconds, lower, upper, nodes) of a search with the relaxation, or over counts, over time.

    ``programs``: how its linear programs went.
    """
    search = search_of(corpus, method)
    search.run(epsilon=0.01, time_limit=seconds)
    trace = [(p.seconds, p.lower, p.upper, p.nodes) for p in [*search.trace, search.point()]]
    return {
        "trace": trace,
        "programs": asdict(search.program.counts) if isinstance(search, ThetaSearch) else None,
    }


def estimate(corpus: TagSentences, method: str, seconds: float) -> dict[str, float]:
    """Knuth's estimate of the tree size of a search with the relaxation, or over counts."""
    search = search_of(corpus, method)
    search.epsilon = 0.01
    result = estimate_tree(search, walks=10_000, seed=1, time_limit=seconds)
    return {
        "nodes": result.nodes,
        "nodes_error": result.nodes_error,
        "seconds": result.seconds,
        "walks": result.walks,
    }


@dataclass(frozen=True)
class Learner:
    """A method to find parses of the 200 sentences."""

    title: str
    search: str
    """Branch and bound after Viterbi EM: ``theta``, ``count`` or ``none``."""
    projection: str = ""
    rlt: str = "Max.0k"
    exact: bool = False
    """Under the rules: E-step by arcwise's dynamic program instead of the paper's relaxed program."""


LEARNERS = {
    "viterbi-em": Learner("Viterbi EM", "none"),
    "viterbi-em-exact": Learner("Viterbi EM, E-step by dynamic programming", "none", exact=True),
    "theta-parameters": Learner("Max.0k, parameters projected", "theta", "normalise"),
    "theta-parses": Learner("Max.0k, parses projected", "theta", "parses"),
    "theta-1k": Learner("Max.1k, parameters projected", "theta", "normalise", "Max.1k"),
    "count": Learner("search over counts", "count"),
}


def read_wsj() -> Treebank:
    """The 200 sentences."""
    return Treebank.read(treebank_folder() / WSJ)


class Watch:
    """Improvements of the incumbent over time: (seconds, log-likelihood, directed accuracy, nodes)."""

    def __init__(self, task: InductionTask, gold: Heads) -> None:
        self.best, self.gold = Incumbent(task), gold
        self.began = time.monotonic()
        self.trace: list[tuple[float, float, float, int]] = []

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.began

    def look(self, nodes: int = 0, *, last: bool = False) -> None:
        """Record the incumbent if it is new or the ``last``."""
        best = self.best
        if best.heads is None or (not last and self.trace and best.value <= self.trace[-1][1]):
            return
        heads = best.task.spread(best.heads)
        right = attachment_accuracy(heads, self.gold, best.task.corpus.starts).directed
        self.trace.append((self.seconds, best.value, right, nodes))


def viterbi_em_for(watch: Watch, *, exact: bool, seconds: float, seed: int) -> dict[str, int]:
    """Run the paper's Viterbi EM until the time limit: uniform parameters, ties broken at random, add-one
    smoothing.

    Offers the parses of each restart to the incumbent, which scores them by their maximum-likelihood
    parameters.
    """
    task = watch.best.task
    relaxed = None if task.constraint is None or exact else RelaxedParser(task)
    options = native.DmvEmOptions(
        viterbi=True,
        start=native.DmvStart.uniform,
        smoothing=1.0,
        polish=False,
        iterations=100,
        tolerance=0.0,
        marked=task.marked,
        least=float(task.least),
    )
    uniform = log_ratio(np.zeros(task.features.count), task.features)
    restarts = 0
    while not restarts or watch.seconds < seconds:
        restart_seed = int(np.random.SeedSequence([seed, restarts]).generate_state(1)[0])
        restarts += 1
        if relaxed is not None:
            ended = relaxed_restart(relaxed, restart_seed, should_stop=lambda: watch.seconds >= seconds)
            heads = None if ended is None else ended.heads
        else:
            counts = native.dmv_counts(task.batch, native.dmv_sample_batch(uniform, task.batch, restart_seed))
            improved = native.dmv_em_improve(
                log_ratio(counts, task.features, smoothing=1.0), task.batch, options
            )
            heads = improved.heads if improved.value > -np.inf else None
        if heads is not None and task.satisfies(heads):
            watch.best.offer(heads)
        watch.look()
    kept = {"restarts": restarts}
    if relaxed is not None:
        kept |= {"parsed": relaxed.parsed, "discarded": relaxed.discarded}
    return kept


def learn(name: str, rules: bool, seconds: float, seed: int) -> dict[str, Any]:
    """Run a learner on the 200 sentences; returns the incumbent over time, the bound if any, and the
    effort.
    """
    learner, treebank = LEARNERS[name], read_wsj()
    corpus = TagSentences.from_treebank(treebank, max_length=10)
    task = InductionTask(corpus, ArcShare(share=SHARE) if rules else None)
    kept = treebank.heads[np.repeat(np.diff(treebank.sentence_words) <= 10, np.diff(treebank.sentence_words))]
    watch = Watch(task, kept)
    first = seconds if learner.search == "none" else seconds * FIRST_SHARE
    tried = viterbi_em_for(watch, exact=learner.exact, seconds=first, seed=seed)
    began, upper = watch.best.value, 0.0
    if learner.search != "none":
        search = _branch_and_bound(task, learner, seed)
        search.best = watch.best

        def watching() -> bool:
            watch.look(search.nodes)
            return False

        left = max(seconds - watch.seconds, 0.1)
        search.run(epsilon=0.01, time_limit=left, should_stop=watching)
        upper = search.point().upper
        tried["nodes"] = search.nodes
    watch.look(tried.get("nodes", 0), last=True)
    return {"trace": watch.trace, "first": began, "upper": upper, **tried}


def _branch_and_bound(task: InductionTask, learner: Learner, seed: int) -> CountSearch | ThetaSearch:
    """Run the search without restarts: new incumbents come from its projections only."""
    if learner.search == "count":
        return CountSearch(task, seed=seed, options=CountOptions(first_restarts=0, restarts=0))
    projection: Any = learner.projection
    options = ThetaOptions(
        rlt=learner.rlt, projection=projection, integral=False, cut_rounds=CUT_ROUNDS, first_restarts=0
    )
    return ThetaSearch(task, seed=seed, options=options)


def block_bound(seconds: float) -> float:
    """Bound of the search over counts on the 200 sentences, by blocks of 20."""
    corpus = TagSentences.from_treebank(read_wsj(), max_length=10)
    return induce_globally(corpus, time_limit=seconds, block_size=20, seed=1).upper
