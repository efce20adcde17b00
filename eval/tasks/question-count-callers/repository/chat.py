def send(to, text):
    raise NotImplementedError
