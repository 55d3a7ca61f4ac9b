"""What a command ends with if it cannot do its work."""


class CommandError(Exception):
    """The work failed; exit status 1."""

    status = 1


class UsageError(CommandError):
    """The command was called in a wrong way; exit status 2."""

    status = 2
