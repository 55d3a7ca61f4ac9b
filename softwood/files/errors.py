"""Errors of loading and saving."""


class InvalidFileError(ValueError):
    """A file is not a softwood model, is damaged, or needs a later release."""


class NotSavableError(ValueError):
    """A model cannot be saved, because it has a function or another object that is not plain data."""
