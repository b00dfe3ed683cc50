"""The one exception a user is meant to read: what was expected, what came, what to do, in one sentence."""


class NnfuzzError(Exception):
    """Shown as it is, without a traceback; the command line exits with code 2."""


class ModelRaised(NnfuzzError):
    """A network raised an exception on its input."""
