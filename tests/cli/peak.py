# peak.py OUT ERR COMMAND…: runs a command with its output in two files and prints its exit code and its peak RSS in MB.
import resource
import subprocess
import sys

with open(sys.argv[1], "wb") as out, open(sys.argv[2], "wb") as err:
    code = subprocess.run(sys.argv[3:], stdin=subprocess.DEVNULL, stdout=out, stderr=err).returncode
print(code, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024)
