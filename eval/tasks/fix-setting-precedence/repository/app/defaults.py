DEFAULTS = {"host": "127.0.0.1", "port": 4000, "timeout": 30}
