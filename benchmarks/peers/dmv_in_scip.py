"""SCIP on the program of Gormley & Eisner (2013): their equations 1–16 in a general-purpose solver."""

from __future__ import annotations

import numpy as np

from arcwise.induction import TagSentences
from arcwise.induction.global_search import InductionTask
from arcwise.induction.global_search.problem import Incumbent
from arcwise.induction.global_search.theta_program import LEAST_THETA, ThetaProgram


def solve_with_scip(corpus: TagSentences, *, epsilon: float, time_limit: float) -> tuple[float, float]:
    """Lower and upper bound after at most ``time_limit`` seconds."""
    from pyscipopt import Model, exp, quicksum

    task = InductionTask(corpus)
    program = ThetaProgram(task)
    model = Model("dmv")
    model.hideOutput()
    arcs = {c for sentence in program.arcs for c in sentence.values()}
    names = set(program.z.values())
    columns = {}
    for c in range(program.count):
        if c not in names:
            kind = "B" if c in arcs else "C"
            columns[c] = model.addVar(f"x{c}", vtype=kind, lb=program.low[c], ub=program.high[c])
    tangents = set(program.theta.values())
    for row, lower, upper in program.rows:
        if tangents.isdisjoint(row):
            total = quicksum(v * columns[c] for c, v in row.items())
            if lower == upper:
                model.addCons(total == lower)
            elif np.isfinite(upper):
                model.addCons(total <= upper)
            else:
                model.addCons(total >= lower)
    for run in program.runs:
        model.addCons(
            quicksum(exp(columns[program.theta[m]]) for m in run) <= 1 + len(run) * np.exp(LEAST_THETA)
        )
    objective = model.addVar("objective", lb=None, ub=0.0)
    model.addCons(
        objective <= quicksum(columns[program.theta[m]] * columns[program.f[m]] for m in program.used)
    )
    model.setObjective(objective, "maximize")
    model.setParam("limits/time", time_limit)
    model.setParam("limits/gap", epsilon)
    model.optimize()
    best = Incumbent(task)
    best.restart(first=0, restarts=10, seed=0)
    found = model.getObjVal() if model.getNSols() else -np.inf
    return max(best.value, found), min(model.getDualbound(), 0.0)  # log-likelihoods are at most 0
