"""python_calls.py: adds up squares through three Python functions for each number.

sonde: hot-function: the interpreter's own loop takes nearly all CPU time.
Fix: one expression, for which the interpreter does less per number.
"""
import sys

COUNT = 2500000


def square(number):
    return number * number


def wanted(number):
    return number % 3 != 0


def add(total, number):
    return total + square(number) if wanted(number) else total


if __name__ == "__main__":
    total = 0
    if sys.argv[1:] == ["fixed"]:
        total = sum([number * number for number in range(COUNT) if number % 3])
    else:
        for number in range(COUNT):
            total = add(total, number)
    print("total:", total)
