"""The compiled pursuit: the algorithm of ``solve_nqp`` on raw arrays."""

import numpy as np

from imkpl._threads import ParallelLoop, inner_loop

# Sums may be reordered and contracted; NaN and infinity keep their meaning.
_FAST = {"reassoc", "contract", "nsz", "arcp"}

# The codes of imkpl.solvers.Status.
_SPARSITY, _STATIONARY, _, _RESIDUAL, _DEPENDENT, _MAX_STEPS = range(6)

# The state of an index. Useless ones become free when the active set changes, dependent ones when
# it loses a member.
_FREE, _IS_ACTIVE, _IS_USELESS, _IS_DEPENDENT = range(4)


@inner_loop(fastmath=_FAST, error_model="numpy")
def _fill_gradient(H, scale, c, x, active, n_active, gradient):  # type: ignore[no-untyped-def]
    """Fill in ``c / scale + H x``, by rows of H, four at a time."""
    n = gradient.size
    for i in range(n):
        gradient[i] = c[i] / scale
    p = 0
    while p + 4 <= n_active:
        h0, h1, h2, h3 = H[active[p]], H[active[p + 1]], H[active[p + 2]], H[active[p + 3]]
        x0, x1, x2, x3 = x[p], x[p + 1], x[p + 2], x[p + 3]
        for i in range(n):
            gradient[i] += (x0 * h0[i] + x1 * h1[i]) + (x2 * h2[i] + x3 * h3[i])
        p += 4
    while p < n_active:
        h0, x0 = H[active[p]], x[p]
        for i in range(n):
            gradient[i] += x0 * h0[i]
        p += 1


@inner_loop()
def _steepest(gradient, mark, threshold):  # type: ignore[no-untyped-def]
    """The free index with the most negative gradient below the threshold, or -1."""
    best, j = threshold, -1
    for i in range(gradient.size):
        if gradient[i] < best and mark[i] == _FREE:
            best, j = gradient[i], i
    return j


@inner_loop(fastmath=_FAST, error_model="numpy")
def _grow_factor(H, scale, c, active, k, factor, y, dependence_tol):  # type: ignore[no-untyped-def]
    """Row k of ``LL' = H_II`` and entry k of ``Ly = -c_I``; False if column k is dependent."""
    j = active[k]
    h, row = H[j], factor[k]
    schur, rest = h[j], -c[j] / scale
    for p in range(k):
        v = h[active[p]]
        for q in range(p):
            v -= row[q] * factor[p, q]
        v /= factor[p, p]
        row[p] = v
        schur -= v * v
        rest -= v * y[p]
    if schur <= dependence_tol * h[j]:
        return False
    row[k] = np.sqrt(schur)
    y[k] = rest / row[k]
    return True


@inner_loop(fastmath=_FAST, error_model="numpy")
def _solve_backward(factor, y, n_active, z):  # type: ignore[no-untyped-def]
    """Solve ``L'z = y``; whether all of z is positive."""
    for p in range(n_active):
        z[p] = y[p]
    is_positive = True
    for p in range(n_active - 1, -1, -1):
        z[p] /= factor[p, p]
        for q in range(p):
            z[q] -= factor[p, q] * z[p]
        is_positive = is_positive and z[p] > 0
    return is_positive


@inner_loop(error_model="numpy")
def _solve_on_active(H, scale, c, x, active, n_active, factor, y, z, mark):  # type: ignore[no-untyped-def]
    """Exact minimum on the active set, which loses each index that would turn negative."""
    while not _solve_backward(factor, y, n_active, z):
        # The nearest zero on the way from x to z; f is convex, so it has fallen there too.
        ratio, lost = np.inf, 0
        for p in range(n_active):
            if z[p] <= 0:
                crossing = x[p] / (x[p] - z[p]) if x[p] > 0 else 0.0
                if crossing < ratio:
                    ratio, lost = crossing, p
        for p in range(n_active):
            x[p] = max(x[p] + ratio * (z[p] - x[p]), 0.0)
        mark[active[lost]] = _FREE
        n_active -= 1
        for p in range(lost, n_active):
            active[p], x[p] = active[p + 1], x[p + 1]
        # Schur complements only grow when a column leaves, so no column is dependent now.
        for p in range(lost, n_active):
            _grow_factor(H, scale, c, active, p, factor, y, -np.inf)
    for p in range(n_active):
        x[p] = z[p]
    return n_active


@inner_loop()
def _restore(H, scale, c, kept_x, kept_active, k, x, active, n_active, factor, y, mark):  # type: ignore[no-untyped-def]
    """Go back to the k entries before a step that did not lower f."""
    for p in range(n_active):
        mark[active[p]] = _FREE
    for p in range(k):
        x[p], active[p] = kept_x[p], kept_active[p]
        mark[active[p]] = _IS_ACTIVE
    for p in range(k):
        _grow_factor(H, scale, c, active, p, factor, y, -np.inf)


@inner_loop(error_model="numpy")
def _pursue(H, c, scale, residual_tol, limits, x, active, work):  # type: ignore[no-untyped-def]
    """Pursue one problem; returns (n_active, value, n_steps, status).

    The solution is left in ``x[:n_active]`` at the columns ``active[:n_active]``. Work arrays:
    ``x, kept_x, y, z`` and the integers ``active, kept_active`` hold min(sparsity, n) entries,
    ``factor`` is square of that size, ``gradient`` and the int8 array ``mark`` hold n.
    """
    sparsity, max_steps, gradient_tol, dependence_tol = limits
    kept_x, kept_active, y, z, factor, gradient, mark = work
    if residual_tol >= 0:
        return 0, 0.0, 0, _RESIDUAL
    n = gradient.size
    largest = 0.0
    for i in range(n):
        largest = max(largest, abs(c[i]))
        mark[i] = _FREE
    threshold = -gradient_tol * largest / scale
    # Functions that are called with a plain 0 would be compiled once more for it.
    n_active = n_steps = int(np.int64(0))
    value = 0.0
    _fill_gradient(H, scale, c, x, active, n_active, gradient)

    while True:
        j = _steepest(gradient, mark, threshold)
        if j < 0:
            status = _STATIONARY
            for i in range(n):
                if mark[i] == _IS_DEPENDENT and gradient[i] < threshold:
                    status = _DEPENDENT
            break
        if n_steps == max_steps:
            status = _MAX_STEPS
            break
        k = n_active
        active[k] = j
        if not _grow_factor(H, scale, c, active, k, factor, y, dependence_tol):
            mark[j] = _IS_DEPENDENT
            continue
        if not y[k] > 0:
            mark[j] = _IS_USELESS
            continue

        for p in range(k):
            kept_x[p], kept_active[p] = x[p], active[p]
        x[k] = 0.0
        mark[j] = _IS_ACTIVE
        n_active = _solve_on_active(H, scale, c, x, active, k + 1, factor, y, z, mark)
        # H_II x = -c_I, so that f = 1/2 c_I'x = -1/2 ||y||² at the minimum.
        new_value = 0.0
        for p in range(n_active):
            new_value -= 0.5 * y[p] * y[p]
        if not new_value < value:
            # A negative gradient promises a decrease, so only round-off can prevent it.
            _restore(H, scale, c, kept_x, kept_active, k, x, active, n_active, factor, y, mark)
            n_active = k
            mark[j] = _IS_USELESS
            continue

        value = new_value
        n_steps += 1
        if scale * value <= residual_tol:
            status = _RESIDUAL
            break
        if n_active == sparsity:
            status = _SPARSITY
            break
        for i in range(n):
            if mark[i] == _IS_USELESS or (n_active <= k and mark[i] == _IS_DEPENDENT):
                mark[i] = _FREE
        _fill_gradient(H, scale, c, x, active, n_active, gradient)

    return n_active, scale * value, n_steps, status


@ParallelLoop(lambda H, C, *_: C.shape[0])
def _pursue_batch(first, last, H, C, scale, residual_tol, limits, *found):  # type: ignore[no-untyped-def]
    """Pursue each row of C in one thread; row i of ``x`` and ``active`` has n_active[i] entries."""
    x, active, n_active, value, n_steps, status = found
    n, width = C.shape[1], x.shape[1]
    kept_x, kept_active = np.empty(width, H.dtype), np.empty(width, np.int64)
    y, z = np.empty(width, H.dtype), np.empty(width, H.dtype)
    factor = np.empty((width, width), H.dtype)
    work = kept_x, kept_active, y, z, factor, np.empty(n, H.dtype), np.empty(n, np.int8)
    for i in range(first, last):
        n_active[i], value[i], n_steps[i], status[i] = _pursue(
            H, C[i], scale, residual_tol, limits, x[i], active[i], work
        )
