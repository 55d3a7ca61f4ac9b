"""What loading and saving can end with."""

__all__ = ["InvalidFileError", "NotSavableError"]


class InvalidFileError(ValueError):
    """A file that is no softwood model, that is damaged, or that needs a later release."""


class NotSavableError(ValueError):
    """A model that a file cannot hold, because it has a function or an object that is no plain data."""
