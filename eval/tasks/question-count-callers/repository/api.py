import mail
from chat import send


def notify(user):
    send(user, "hello")
    mail.send(user, "hello")
    # mail.send(user, "again")
