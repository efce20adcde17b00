import heapq


def install_order(packages):
    """Returns the names so that each comes after everything that it needs."""
    names = set(packages) | {need for needs in packages.values() for need in needs}
    missing = {name: set(packages.get(name, ())) for name in names}
    users = {name: [] for name in names}
    for name, needs in missing.items():
        for need in needs:
            users[need].append(name)
    ready = [name for name, needs in missing.items() if not needs]
    heapq.heapify(ready)
    order = []
    while ready:
        name = heapq.heappop(ready)
        order.append(name)
        for user in users[name]:
            missing[user].discard(name)
            if not missing[user]:
                heapq.heappush(ready, user)
    if len(order) < len(names):
        raise ValueError("cycle: " + " -> ".join(_find_cycle(missing)))
    return order


def _find_cycle(missing):
    """Follows unmet needs until a package repeats."""
    name = next(name for name, needs in missing.items() if needs)
    path = []
    while name not in path:
        path.append(name)
        name = min(missing[name])
    return path[path.index(name):] + [name]
