"""numpy_small.py: rotates groups of eight points repeatedly, each group with a multiplication of 8 by 8 matrices:
calling the BLAS takes longer than the computation.

sonde: small-blas: 120,000 calls of dgemm, of 1,024 FLOP each.
Fix: all points are the rows of one matrix, and rotated by one call.
"""
import sys

import numpy

ROUNDS, PARTS, SIZE = 30, 4000, 8

if __name__ == "__main__":
    turn = numpy.arange(SIZE * SIZE, dtype=float).reshape(SIZE, SIZE) % 5
    points = numpy.arange(PARTS * SIZE * SIZE, dtype=float).reshape(PARTS, SIZE, SIZE) % 7
    turned = numpy.empty_like(points)
    for _ in range(ROUNDS):
        if sys.argv[1:] == ["fixed"]:
            numpy.dot(points.reshape(-1, SIZE), turn, out=turned.reshape(-1, SIZE))
            continue
        for part in range(PARTS):
            numpy.dot(points[part], turn, out=turned[part])
    print("total:", int(turned.sum()))
