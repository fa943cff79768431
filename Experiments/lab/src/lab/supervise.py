"""Runs a command and ends it when the process that started it is gone.

    python supervise.py FOLDER COMMAND ARGUMENT…

Standard input is a pipe whose other end the starting process holds. When that process ends, even by SIGKILL, the pipe
closes; then this script kills the command and deletes FOLDER. Without it, the command of a killed worker would go on
and take a processor from the worker that repeats its cells. The exit status is the command's, or 128 + signal.
"""

import os
import shutil
import signal
import subprocess
import sys
import threading


def main() -> int:
    folder, command = sys.argv[1], sys.argv[2:]
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)  # The pipe decides; a ctrl-C ends the starting process first.
    try:
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True)
    except OSError as error:
        print(f"{command[0]}: {error.strerror}", file=sys.stderr)
        return 127

    is_orphan = threading.Event()

    def watch() -> None:
        while os.read(0, 1):
            pass
        is_orphan.set()
        child.kill()
        child.wait()
        shutil.rmtree(folder, ignore_errors=True)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    status = child.wait()
    if is_orphan.is_set():
        watcher.join()
    os._exit(status if status >= 0 else 128 - status)  # Without waiting for the watcher, which reads a pipe.


if __name__ == "__main__":
    sys.exit(main())
