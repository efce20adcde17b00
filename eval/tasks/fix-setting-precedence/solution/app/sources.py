from app.defaults import DEFAULTS


def from_environment(environment):
    found = {}
    for name, default in DEFAULTS.items():
        variable = "APP_" + name.upper()
        if variable in environment:
            found[name] = type(default)(environment[variable])
    return found


def from_arguments(arguments):
    found = {}
    for flag, value in zip(arguments[::2], arguments[1::2]):
        name = flag.removeprefix("--")
        found[name] = type(DEFAULTS[name])(value)
    return found
