"""An agent of anyone's: asks through the endpoint, whole and streamed, and once where it may not."""

import json
import os
import sys
import urllib.error
import urllib.request

URL, TOKEN = os.environ["OPENAI_BASE_URL"], os.environ["OPENAI_API_KEY"]


def ask(text: str, token: str = TOKEN, *, stream: bool = False) -> str:
    """One question; an error is an empty answer."""
    body = {"model": "any", "messages": [{"role": "user", "content": text}], "stream": stream}
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    request = urllib.request.Request(URL + "/chat/completions", json.dumps(body).encode(), headers)
    try:
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=20) as reply:
            said = reply.read().decode()
    except (OSError, urllib.error.HTTPError):
        return ""
    return said if stream else json.loads(said)["choices"][0]["message"]["content"] or ""


for line in sys.stdin:
    task = json.loads(line)
    ask("without the right token", "wrong")
    ask("streamed: " + task["text"], stream=True)
    answer = ask("Summarise in one sentence: " + task["text"]) or "nothing"
    sys.stdout.write(json.dumps({"answer": answer}) + "\n")
    sys.stdout.flush()
