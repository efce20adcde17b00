import mail as post

LOG = "mail.send(report)"


def report(lines):
    return [post.send("team", line) for line in lines]
