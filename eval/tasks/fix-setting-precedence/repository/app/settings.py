from app.defaults import DEFAULTS
from app.sources import from_arguments, from_environment


def load(arguments, environment, file):
    """Returns the settings as a dictionary."""
    settings = dict(DEFAULTS)
    settings.update(from_environment(environment))
    settings.update(file)
    for name, value in from_arguments(arguments).items():
        if value:
            settings[name] = value
    return settings
