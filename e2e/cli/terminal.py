"""Runs a command in a pseudo-terminal: stdin is the keyboard, stdout is the screen. Exits with its exit code."""

import fcntl
import os
import pty
import select
import struct
import sys
import termios

columns, *command = sys.argv[1:]
pid, screen = pty.fork()
if pid == 0:
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 40, int(columns), 0, 0))
    os.execvp(command[0], command)

keyboard = 0
sources = [screen, keyboard]
while True:
    ready, _, _ = select.select(sources, [], [])
    if keyboard in ready:
        typed = os.read(keyboard, 65536)
        if typed:
            os.write(screen, typed)
        else:
            sources.remove(keyboard)
    if screen in ready:
        try:
            shown = os.read(screen, 65536)
        except OSError:
            break  # The command has exited.
        if not shown:
            break
        os.write(1, shown)

_, status = os.waitpid(pid, 0)
sys.exit(os.waitstatus_to_exitcode(status) % 256)
