"""What goes wrong with model files."""


class ModelFileError(ValueError):
    """A model that a file cannot hold, or a file that does not hold a model.

    Its text says what was found, what was expected and what to do.
    """


def misfit(problem: str) -> ModelFileError:
    """The error of a file that `save` cannot have written.

    Parameters
    ----------
    problem : str
        What was found, and what was expected.

    Returns
    -------
    ModelFileError
        To be raised.
    """
    return ModelFileError(f"{problem}. Get a file that imkpl.save wrote.")
