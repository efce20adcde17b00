def limit_for(plan):
    return 10 if plan == "free" else 100
