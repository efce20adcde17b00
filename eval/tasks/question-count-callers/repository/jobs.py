from mail import send as deliver


def nightly(users):
    for user in users:
        deliver(user, "report")
    deliver("admin", "call mail.send() yourself")
