"""The first program in an agent's namespaces, using only the standard library; it is then replaced by the agent.

inside.py look PROGRAM [PATH]…             reports which of these are not visible here
inside.py start FD PORT PROGRAM [WORD]…    listens on the loopback interface, sends the socket over FD, runs PROGRAM
"""

import os
import socket
import sys


def look(program: str, *paths: str) -> None:
    """Exit with a message if the agent could not be started here."""
    import shutil

    if shutil.which(program) is None:
        sys.exit(f"the program {program!r} is not in what it sees")
    for path in paths:
        if not os.path.exists(path):
            sys.exit(f"{path!r} is not in what it sees")


def start(back: str, port: str, *words: str) -> None:
    """Listen, send the listening socket out, and become the agent, which inherits neither socket."""
    listening = socket.create_server(("127.0.0.1", int(port)), backlog=1024)
    with socket.socket(fileno=int(back)) as connection:
        socket.send_fds(connection, [b"!"], [listening.fileno()])
    listening.close()
    try:
        os.execvp(words[0], words)
    except OSError as error:
        sys.exit(f"{words[0]}: {error.strerror}")


if __name__ == "__main__":
    {"look": look, "start": start}[sys.argv[1]](*sys.argv[2:])
