"""Keys taken out of what others send: a server may echo one, as it is or written in another way.

Found are a secret itself, its characters as JSON, URL or HTML escapes (all of them or some), and its base64, alone or
inside something longer. A secret of fewer than 8 characters is left alone: such are placeholders ("none", "EMPTY"),
and taking out every place where they occur would change answers.
"""

import base64
import re
from collections.abc import Iterable

LEAST = 8
NAMED = "[key]"
ESCAPED = ("%", "\\u00", "\\U00", "\\x", "&#")


class Redaction:
    """Takes some secrets out of texts."""

    def __init__(self, secrets: Iterable[str]) -> None:
        known = sorted({secret for secret in secrets if len(secret) >= LEAST}, key=len, reverse=True)
        self._known = known
        self._literal = [*known, *(part for secret in known for part in _encoded(secret))]
        self._escaped = re.compile("|".join("".join(map(_any_way, secret)) for secret in known)) if known else None

    def __call__(self, text: str) -> str:
        """`text` without them."""
        for secret in self._literal:
            text = text.replace(secret, NAMED)
        if self._escaped is not None and (any(mark in text for mark in ESCAPED) or self._quoted(text)):
            text = self._escaped.sub(NAMED, text)
        return text

    def _quoted(self, text: str) -> bool:
        """Whether a secret is there but for backslashes."""
        if "\\" not in text:
            return False
        bare = text.replace("\\", "")
        return any(secret.replace("\\", "") in bare for secret in self._known)


def _any_way(character: str) -> str:
    """A pattern of one character as it is or escaped; a text that was quoted twice has its backslashes doubled."""
    code = ord(character)
    digits = "".join(f"[{digit}{digit.upper()}]" if digit.isalpha() else digit for digit in f"{code:02x}")
    forms = (
        rf"\\{{0,4}}{re.escape(character)}",
        rf"\\{{1,4}}(?:[uU]00|x){digits}",
        rf"%(?:25){{0,3}}{digits}",
        rf"&#(?:0{{0,5}}{code}|[xX]0{{0,5}}{digits});",
    )
    return f"(?:{'|'.join(forms)})"


def _encoded(secret: str) -> set[str]:
    """The base64 of a secret wherever it stands in what was encoded, without letters shared with neighbours."""
    found: set[str] = set()
    for before in range(3):
        data = bytes(before) + secret.encode()
        first = -(-before * 8 // 6)
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            found.add(encode(data).decode()[first : len(data) * 8 // 6])
    return found
