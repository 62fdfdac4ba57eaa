"""What goes wrong with model files."""

from imkpl.archives.kind import FileKind


class ModelFileError(ValueError):
    """A model that a file cannot hold, or a file that does not hold a model.

    Its text says what was found, what was expected and what to do.
    """


MODEL_FILE = FileKind(
    name="model",
    document="model.json",
    format_version=1,
    error=ModelFileError,
    not_one=(
        "it is not a model file. Expected a file written by imkpl.save; pickles and other archives "
        "are never opened."
    ),
    remedy="Copy it again, or save the model again.",
    source="Get a file that imkpl.save wrote.",
)
misfit = MODEL_FILE.misfit
