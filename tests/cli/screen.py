#!/usr/bin/env python3
"""screen.py: runs a command on a pseudo terminal, types, and checks what is on its screen.

Usage: screen.py STEP… -- COMMAND…
  size=COLUMNSxLINES   of the terminal (80x24), also while it runs
  key=KEYS             typed: characters, or up, down, right, left, home, end, tab, f1, f4, f6, f10, space, ctrl-c
  see=TEXT             waits until a line holds it, at most 20 s (lack=TEXT: until none does)
  wait=SECONDS
  kill=PID             ends that process
  end=CODE             waits for the command's end, with this exit code and the terminal as it was
It exits with 1 and the screen when a step fails. The terminal is a vt100, whose few sequences are followed here.
"""
import codecs
import fcntl
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time

KEYS = {"up": "\x1bOA", "down": "\x1bOB", "right": "\x1bOC", "left": "\x1bOD", "tab": "\t", "space": " ", "ctrl-c": "\x03",
        "f1": "\x1bOP", "f4": "\x1bOS", "f6": "\x1bOu", "f10": "\x1bOx"}
SEQUENCE = re.compile(r"\x1b\[([?0-9;]*)([A-Za-z])|\x1b[()][A-Z0-9]|\x1b[=>78DEHM]|\$<[0-9/*]+>")


class Screen:
    def __init__(self, columns, lines):
        self.row = self.column = 0
        self.text, self.raw = "", ""
        self.resize(columns, lines)

    def resize(self, columns, lines):
        old = getattr(self, "cells", [])
        self.columns, self.lines = columns, lines
        self.cells = [[*line[:columns], *[" "] * (columns - len(line))] for line in old[:lines]]
        self.cells += [[" "] * columns for _ in range(lines - len(self.cells))]
        self.row, self.column = min(self.row, lines - 1), min(self.column, columns - 1)

    def erase(self, how):
        row = self.cells[self.row]
        if how in ("line", "below"):
            row[self.column:] = [" "] * (self.columns - self.column)
        if how == "before":
            row[:self.column + 1] = [" "] * (self.column + 1)
        if how == "below":
            for line in self.cells[self.row + 1:]:
                line[:] = [" "] * self.columns
        if how == "all":
            for line in self.cells:
                line[:] = [" "] * self.columns

    def control(self, arguments, what):
        numbers = [int(n) if n else 0 for n in arguments.lstrip("?").split(";")]
        first = numbers[0]
        if what in "ABCD":  # behind the last column the cursor is still on it
            self.column = min(self.column, self.columns - 1)
        if what == "H":
            self.row = min(max(first, 1), self.lines) - 1
            self.column = min(max(numbers[1] if len(numbers) > 1 else 1, 1), self.columns) - 1
        elif what == "A":
            self.row = max(self.row - max(first, 1), 0)
        elif what == "B":
            self.row = min(self.row + max(first, 1), self.lines - 1)
        elif what == "C":
            self.column = min(self.column + max(first, 1), self.columns - 1)
        elif what == "D":
            self.column = max(self.column - max(first, 1), 0)
        elif what == "J":
            self.erase("all" if first == 2 else "below")
        elif what == "K":
            self.erase("before" if first == 1 else "line")

    def put(self, text):
        self.raw += text
        self.text += text
        while self.text:
            match = SEQUENCE.match(self.text)
            if match:
                self.text = self.text[match.end():]
                if match.group(2):
                    self.control(match.group(1), match.group(2))
                continue
            if self.text[0] == "\x1b":
                if len(self.text) < 24:
                    return
                sys.exit(f"screen.py: a sequence that a vt100 does not have: {self.text[:24]!r}")
            char, self.text = self.text[0], self.text[1:]
            if char == "\r":
                self.column = 0
            elif char == "\n":
                self.row = min(self.row + 1, self.lines - 1)
            elif char == "\b":
                self.column = max(min(self.column, self.columns - 1) - 1, 0)
            elif char == "\t":
                self.column = min((self.column // 8 + 1) * 8, self.columns - 1)
            elif char >= " ":
                if self.column >= self.columns:
                    self.column, self.row = 0, min(self.row + 1, self.lines - 1)
                self.cells[self.row][self.column] = char
                self.column += 1

    def shown(self):
        return "\n".join("".join(line).rstrip() for line in self.cells)


class Terminal:
    def __init__(self, command):
        self.screen = Screen(80, 24)
        self.decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self.status = None
        self.master, self.slave = pty.openpty()
        self.resize(80, 24)
        self.before = termios.tcgetattr(self.slave)
        self.pid = os.fork()
        if self.pid == 0:
            os.setsid()
            fcntl.ioctl(self.slave, termios.TIOCSCTTY, 0)
            for fd in range(3):
                os.dup2(self.slave, fd)
            os.closerange(3, 64)
            os.environ["TERM"] = os.environ.get("SCREEN_TERM", "vt100")
            os.execvp(command[0], command)

    def resize(self, columns, lines):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        self.screen.resize(columns, lines)

    def read(self, seconds):
        if select.select([self.master], [], [], seconds)[0]:
            self.screen.put(self.decoder.decode(os.read(self.master, 65536)))

    def wait(self, seconds, until=lambda: False):
        end = time.monotonic() + seconds
        while not until() and time.monotonic() < end:
            self.read(0.05)
        return until()

    def has_ended(self):
        if self.status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self.status = status if pid else None
        return self.status is not None

    def end(self, code):
        if not self.wait(20, self.has_ended):
            self.fail("it does not end")
        self.wait(0.2)
        got = os.waitstatus_to_exitcode(self.status)
        if got != code:
            self.fail(f"exit code {got} instead of {code}")
        if termios.tcgetattr(self.slave) != self.before:
            self.fail("the terminal is not as it was")

    def fail(self, why):
        print(f"screen.py: {why}\n{self.screen.shown()}", file=sys.stderr)
        if not self.has_ended():
            os.kill(self.pid, signal.SIGKILL)
        sys.exit(1)

    def step(self, step):
        what, _, value = step.partition("=")
        if what == "size":
            self.resize(*(int(n) for n in value.split("x")))
        elif what == "key":
            os.write(self.master, KEYS.get(value, value).encode())
        elif what == "see":
            if not self.wait(20, lambda: value in self.screen.shown()):
                self.fail(f"not there: '{value}'")
        elif what == "lack":
            if not self.wait(20, lambda: value not in self.screen.shown()):
                self.fail(f"still there: '{value}'")
        elif what == "wait":
            self.wait(float(value))
        elif what == "kill":
            os.kill(int(value), signal.SIGKILL)
        elif what == "end":
            self.end(int(value))
        elif what == "print":
            print(self.screen.shown())
        else:
            sys.exit(f"screen.py: no step '{step}'")


def main():
    at = sys.argv.index("--")
    terminal = Terminal(sys.argv[at + 1:])
    for step in sys.argv[1:at]:
        terminal.step(step)


main()
