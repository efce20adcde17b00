from app.defaults import DEFAULTS
from app.sources import from_arguments, from_environment


def load(arguments, environment, file):
    """Returns the settings as a dictionary."""
    return {**DEFAULTS, **file, **from_environment(environment), **from_arguments(arguments)}
