def install_order(packages):
    """Returns the names so that each comes after everything that it needs."""
    order = []

    def visit(name, path):
        if name in path:
            raise ValueError("cycle: " + " -> ".join([*path, name]))
        if name in order:
            return
        for need in sorted(packages.get(name, [])):
            visit(need, [*path, name])
        order.append(name)

    for name in sorted(packages):
        visit(name, [])
    return order
