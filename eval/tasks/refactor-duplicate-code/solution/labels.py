def user_label(user):
    return _label("user", user["name"], 20)


def team_label(team):
    return _label("team", team["title"], 20)


def project_label(project):
    return _label("project", project["name"], 40)


def _label(kind, name, longest):
    """Returns a name that is safe in HTML and has at most `longest` characters, with its kind."""
    name = name.strip()
    if len(name) > longest:
        name = name[: longest - 1] + "…"
    return f"{kind}: " + name.replace("<", "&lt;")
