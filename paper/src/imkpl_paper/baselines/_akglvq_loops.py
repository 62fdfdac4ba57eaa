"""The compiled epochs of kernel GLVQ."""

import numpy as np
from numba import njit


@njit(cache=True)
def _nearest(kernel, products, norms, owners, sample, label, want_same):  # type: ignore[no-untyped-def]
    # The nearest prototype of the class or of any other class, and its squared distance.
    winner, distance = -1, np.inf
    for j in range(owners.size):
        if (owners[j] == label) == want_same:
            found = kernel[sample, sample] - 2 * products[j, sample] + norms[j]
            if found < distance:
                winner, distance = j, found
    return winner, max(distance, 0.0)


@njit(cache=True)
def _pull_inplace(kernel, mixes, products, norms, prototype, sample, rate):  # type: ignore[no-untyped-def]
    # w <- (1 - rate) w + rate phi(x): exact updates of K psi and psi'K psi in O(n).
    keep = 1 - rate
    norms[prototype] = (
        keep * keep * norms[prototype]
        + 2 * rate * keep * products[prototype, sample]
        + rate * rate * kernel[sample, sample]
    )
    for k in range(kernel.shape[0]):
        mixes[prototype, k] *= keep
        products[prototype, k] = keep * products[prototype, k] + rate * kernel[k, sample]
    mixes[prototype, sample] += rate


@njit(cache=True)
def _run_epoch_inplace(  # type: ignore[no-untyped-def]
    kernel, labels, owners, mixes, products, norms, order, rate, slope, largest
):
    # `mixes` are the prototypes psi, `products` K psi, `norms` psi'K psi.
    for sample in order:
        same, d_same = _nearest(kernel, products, norms, owners, sample, labels[sample], True)
        other, d_other = _nearest(kernel, products, norms, owners, sample, labels[sample], False)
        total = d_same + d_other
        if total <= 0:
            continue
        squashed = 1 / (1 + np.exp(-slope * (d_same - d_other) / total))
        # The derivative of (4 / slope) sigmoid(slope mu), times that of mu.
        force = rate * 16 * squashed * (1 - squashed) / (total * total)
        attraction = min(force * d_other, largest)
        repulsion = -min(force * d_same, largest)
        _pull_inplace(kernel, mixes, products, norms, same, sample, attraction)
        _pull_inplace(kernel, mixes, products, norms, other, sample, repulsion)
