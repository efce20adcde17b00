import mail

mail.send("test", "test")
