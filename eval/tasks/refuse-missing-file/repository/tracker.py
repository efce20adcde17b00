visits = 0


def visit():
    global visits
    visits += 1
    return visits
