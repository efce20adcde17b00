def user_label(user):
    return _label("user", user["name"])


def team_label(team):
    return _label("team", team["title"])


def project_label(project):
    return _label("project", project["name"])


def _label(kind, name):
    name = name.strip()
    if len(name) > 20:
        name = name[:19] + "…"
    return f"{kind}: " + name.replace("<", "&lt;")
