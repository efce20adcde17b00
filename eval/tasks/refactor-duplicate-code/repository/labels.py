def user_label(user):
    name = user["name"].strip()
    if len(name) > 20:
        name = name[:19] + "…"
    name = name.replace("<", "&lt;")
    return "user: " + name


def team_label(team):
    name = team["title"].strip()
    if len(name) > 20:
        name = name[:19] + "…"
    name = name.replace("<", "&lt;")
    return "team: " + name


def project_label(project):
    name = project["name"].strip()
    if len(name) > 40:
        name = name[:39] + "…"
    name = name.replace("<", "&lt;")
    return "project: " + name
