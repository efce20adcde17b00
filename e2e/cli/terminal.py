"""Runs a command in a pseudo-terminal: stdin is the keyboard, stdout is the screen. Exits with its exit code.

A line `NUL resize ROWS COLUMNS` on stdin changes the size of the terminal.
"""

import fcntl
import os
import pty
import re
import select
import struct
import sys
import termios



def resize(terminal, rows, columns):
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", int(rows), int(columns), 0, 0))


def type_keys(typed):
    for part in re.split(rb"(\0resize \d+ \d+\n)", typed):
        if part.startswith(b"\0resize"):
            resize(screen, *part.split()[1:])
        elif part:
            os.write(screen, part)


columns, *command = sys.argv[1:]
pid, screen = pty.fork()
if pid == 0:
    resize(0, 40, columns)
    os.execvp(command[0], command)

keyboard = 0
sources = [screen, keyboard]
while True:
    ready, _, _ = select.select(sources, [], [])
    if keyboard in ready:
        typed = os.read(keyboard, 65536)
        if typed:
            type_keys(typed)
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
