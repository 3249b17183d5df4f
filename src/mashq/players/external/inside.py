"""What runs first in an agent's namespaces, with nothing but the standard library: it becomes the agent.

inside.py look PROGRAM [PATH]…             says what of these cannot be seen from here
inside.py start FD PORT PROGRAM [WORD]…    listens on the loopback interface, hands that back over FD, becomes PROGRAM
"""

import os
import socket
import sys


def look(program: str, *paths: str) -> None:
    """Exit with a sentence when the agent could not be started from here."""
    import shutil

    if shutil.which(program) is None:
        sys.exit(f"the program {program!r} is not in what it sees")
    for path in paths:
        if not os.path.exists(path):
            sys.exit(f"{path!r} is not in what it sees")


def start(back: str, port: str, *words: str) -> None:
    """Listen, hand the listening socket out, and become the agent, which inherits neither."""
    listening = socket.create_server(("127.0.0.1", int(port)), backlog=1024)
    with socket.socket(fileno=int(back)) as ours:
        socket.send_fds(ours, [b"!"], [listening.fileno()])
    listening.close()
    try:
        os.execvp(words[0], words)
    except OSError as error:
        sys.exit(f"{words[0]}: {error.strerror}")


if __name__ == "__main__":
    {"look": look, "start": start}[sys.argv[1]](*sys.argv[2:])
