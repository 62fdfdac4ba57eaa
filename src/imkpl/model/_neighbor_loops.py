"""The compiled search for the nearest samples of the same class and of other classes."""

import numpy as np

from imkpl._threads import ParallelLoop, inner_loop


@inner_loop()
def _insert(found, values, n_found, candidate, value):  # type: ignore[no-untyped-def]
    # After all that are at least as near, so that the first of equally near samples counts.
    if n_found == found.size:
        if not value > values[n_found - 1]:
            return n_found
    else:
        n_found += 1
    place = n_found - 1
    while place > 0 and value > values[place - 1]:
        values[place], found[place] = values[place - 1], found[place - 1]
        place -= 1
    values[place], found[place] = value, candidate
    return n_found


@ParallelLoop(lambda kernel, labels, persons, samples, *_: samples.size)
def _find_nearest_inplace(  # type: ignore[no-untyped-def]
    first, last, kernel, labels, persons, samples, order, same, other, n_same, n_other
):
    # The neighbours of samples[p] are the first n_same[p] entries of same[p] and the first
    # n_other[p] entries of other[p]. The kernel counts together with itself in another order of
    # samples, unless that is empty.
    for p in range(first, last):
        i = samples[p]
        own, others = same[p], other[p]
        to_same = np.empty(own.size)
        to_other = np.empty(others.size)
        # `_insert` would be compiled once more for a plain 0.
        found_same = found_other = int(np.int64(0))
        for j in range(labels.size):
            value = kernel[i, j]
            if order.size > 0:
                value += kernel[order[i], order[j]]
            if labels[j] != labels[i]:
                # Most samples are no neighbours; the function is not called for these.
                if found_other < others.size or value > to_other[found_other - 1]:
                    found_other = _insert(others, to_other, found_other, j, value)
            elif persons[j] != persons[i]:
                found_same = _insert(own, to_same, found_same, j, value)
        if found_same == 0:
            # The only sample of a class, or one of a class of one person, is its own neighbour.
            same[p, 0], found_same = i, 1
        n_same[p], n_other[p] = found_same, found_other
