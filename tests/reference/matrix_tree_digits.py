"""The textbook Matrix-Tree theorem with as many digits as it needs: an oracle for marginals of spread
scores."""

import mpmath
import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def precise_matrix_tree(scores: Floats, *, single_root: bool, digits: int = 60) -> tuple[Floats, float]:
    """Marginals, shape (n+1, n+1), and log Z: Koo et al. 2007, by an inverse with ``digits`` digits to spare.

    Cancellation eats digits in proportion to the range of the scores (which is in units of e, not of 10);
    they are added.
    """
    n = len(scores) - 1
    lost = int(np.ptp(scores[:, 1:]))
    with mpmath.workdps(digits + lost):
        weight = [[mpmath.exp(mpmath.mpf(float(s))) for s in row] for row in scores]
        laplacian = mpmath.matrix(n, n)
        for m in range(1, n + 1):
            for h in range(1, n + 1):
                if h != m:
                    laplacian[h - 1, m - 1] = -weight[h][m]
                    laplacian[m - 1, m - 1] += weight[h][m]
            if not single_root:
                laplacian[m - 1, m - 1] += weight[0][m]
        if single_root:
            for m in range(1, n + 1):
                laplacian[0, m - 1] = weight[0][m]
        inverse = laplacian**-1
        marginals = np.zeros((n + 1, n + 1))
        for m in range(1, n + 1):
            own = inverse[m - 1, m - 1]
            root = inverse[m - 1, 0] if single_root else own
            marginals[0, m] = float(weight[0][m] * root)
            for h in range(1, n + 1):
                if h != m:
                    stays = 0 if single_root and m == 1 else own
                    leaves = 0 if single_root and h == 1 else inverse[m - 1, h - 1]
                    marginals[h, m] = float(weight[h][m] * (stays - leaves))
        return marginals, float(mpmath.log(mpmath.det(laplacian)))
