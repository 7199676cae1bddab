"""The quadratic program of MIRA, solved by HiGHS: nothing of it is shared with the trainer."""

from __future__ import annotations

import highspy
import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def smallest_change(differences: Floats, losses: Floats, start: Floats, C: float) -> Floats:
    """The w that minimises ½|w - start|² + C Σ ξ with w·d_i ≥ loss_i - ξ_i and ξ ≥ 0.

    The change is a sum of differences d_i, so that only their span matters: w = start + Q u, where the
    columns of Q are a basis of it. Variables are u and ξ, scaled so that the solver sees numbers near 1.
    """
    k = len(losses)
    touched = np.flatnonzero(differences.any(axis=0))
    basis, triangle = np.linalg.qr(differences[:, touched].T)
    size = triangle.shape[0]
    scale = float(np.sqrt(np.mean(np.sum(triangle**2, axis=0))))  # of the constraints; u is divided by it
    left = np.hstack([triangle.T / scale, np.eye(k)])
    right = losses - differences @ start
    solver = highspy.Highs()
    solver.silent()
    solver.setOptionValue("qp_regularization_value", 0.0)
    model = highspy.HighsModel()
    model.lp_.num_col_ = size + k
    model.lp_.num_row_ = k
    model.lp_.col_cost_ = np.concatenate([np.zeros(size), np.full(k, C * scale**2)])
    model.lp_.col_lower_ = np.concatenate([np.full(size, -np.inf), np.zeros(k)])
    model.lp_.col_upper_ = np.full(size + k, np.inf)
    model.lp_.row_lower_ = right
    model.lp_.row_upper_ = np.full(k, np.inf)
    model.lp_.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    model.lp_.a_matrix_.start_ = np.arange(k + 1, dtype=np.int32) * (size + k)
    model.lp_.a_matrix_.index_ = np.tile(np.arange(size + k, dtype=np.int32), k)
    model.lp_.a_matrix_.value_ = left.ravel()
    model.hessian_.dim_ = size + k
    model.hessian_.format_ = highspy.HessianFormat.kTriangular
    model.hessian_.start_ = np.minimum(np.arange(size + k + 1), size).astype(np.int32)
    model.hessian_.index_ = np.arange(size, dtype=np.int32)
    model.hessian_.value_ = np.ones(size)
    solver.passModel(model)
    solver.run()
    assert solver.getModelStatus() == highspy.HighsModelStatus.kOptimal
    u = np.array(solver.getSolution().col_value)[:size]
    result = start.copy()
    result[touched] += basis @ u / scale
    return result
