"""A small program to be metered: four requests, and one for a path that does not exist."""

import json
import os
import urllib.error
import urllib.request


def ask(path: str, words: int) -> None:
    """One request; an error is an answer too."""
    said = {"model": "any", "messages": [{"role": "user", "content": "word " * words}]}
    headers = {"Authorization": f"Bearer {os.environ['OPENAI_API_KEY']}", "Content-Type": "application/json"}
    request = urllib.request.Request(os.environ["OPENAI_BASE_URL"] + path, json.dumps(said).encode(), headers)
    try:
        with urllib.request.urlopen(request, timeout=20) as reply:
            reply.read()
    except urllib.error.HTTPError as error:
        error.read()


for size in (3, 5, 8, 13):
    ask("/chat/completions", size)
ask("/elsewhere", 1)
