"""gil.py: two threads compute in Python, where a global lock lets one thread run at a time: both together take as long
as one after the other.

sonde: interpreter-lock: each thread waits half of its time for the other.
Fix: processes instead of threads.
"""
import multiprocessing
import sys
import threading


def collatz(first, count):
    longest = 0
    for start in range(first, first + count):
        number, steps = start, 0
        while number != 1:
            number = number // 2 if number % 2 == 0 else 3 * number + 1
            steps += 1
        longest = max(longest, steps)
    return longest


def with_threads(halves):
    results = [0] * len(halves)

    def run(i):
        results[i] = collatz(*halves[i])

    threads = [threading.Thread(target=run, args=(i,)) for i in range(len(halves))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def with_processes(halves):
    with multiprocessing.get_context("fork").Pool(len(halves)) as pool:
        return pool.starmap(collatz, halves)


if __name__ == "__main__":
    fixed = sys.argv[1:] == ["fixed"]
    halves = [(10000, 25000), (35000, 25000)]
    print("longest:", max(with_processes(halves) if fixed else with_threads(halves)))
