"""The paper: problem, objective, the three updates, and the loop around them.

Nothing here knows scikit-learn. A :class:`~imkpl.model.problem.Problem` holds what stays fixed
during a fit, a :class:`~imkpl.model.state.State` what is learned; both are replaced, never edited.
"""
