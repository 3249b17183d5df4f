"""A program that plays: a line of JSON for each item comes in, a line with the answer goes out.

Any client of OpenAI's, Anthropic's or Gemini's format works as it is: the variables that it reads are set. This one
needs nothing but Python.
"""

import json
import os
import sys
import urllib.request


def ask(text: str) -> str:
    """One call of the player's model."""
    body = {"model": "any", "messages": [{"role": "user", "content": f"Summarise in two sentences:\n\n{text}"}]}
    request = urllib.request.Request(
        os.environ["OPENAI_BASE_URL"] + "/chat/completions",
        json.dumps(body).encode(),
        {"Authorization": f"Bearer {os.environ['OPENAI_API_KEY']}", "Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request) as reply:
        return json.load(reply)["choices"][0]["message"]["content"]


def main() -> None:
    """Answer every item."""
    for line in sys.stdin:
        task = json.loads(line)
        sys.stdout.write(json.dumps({"answer": ask(task["text"])}) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
