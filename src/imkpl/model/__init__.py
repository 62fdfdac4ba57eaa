"""The paper: problem, objective, the three updates, and the loop around them.

Independent of scikit-learn. A `Problem` holds what stays fixed during a fit, a `State` what is
learned; both are replaced, never edited.
"""
