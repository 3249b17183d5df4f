"""A small external agent: one request per item, two for every other item."""

import json
import os
import sys
import urllib.request
from typing import Any


def ask(text: str) -> str:
    """One chat completion through the metering endpoint."""
    body = json.dumps({"model": "any", "messages": [{"role": "user", "content": "Summarise: " + text}]}).encode()
    headers = {"Authorization": f"Bearer {os.environ['OPENAI_API_KEY']}", "Content-Type": "application/json"}
    request = urllib.request.Request(os.environ["OPENAI_BASE_URL"] + "/chat/completions", body, headers)
    with urllib.request.urlopen(request, timeout=20) as reply:
        document: Any = json.load(reply)
    return str(document["choices"][0]["message"]["content"])


for number, line in enumerate(sys.stdin):
    task: Any = json.loads(line)
    answers = [ask(task["text"]) for _ in range(1 + number % 2)]
    said = "" if number == 3 else answers[-1]
    sys.stdout.write(json.dumps({"answer": said, "confidence": 0.8}) + "\n")
    sys.stdout.flush()
