"""Access control of the dashboard, and the security headers of its responses.

Contract: every request passes `Guard` first. Only GET and HEAD are allowed; a Host that is not this server's, an
Origin that is not the page's own and a cross-site request for anything but a page are refused with 403; if a token is
set, a request without it gets 401. Every response carries a content security policy under which a page runs only this
server's scripts, and under which text can never become HTML (trusted types).
"""

import ipaddress
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlencode, urlsplit

from starlette.responses import PlainTextResponse, RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

COOKIE = "mashq_view"
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
HEADERS = {
    b"content-security-policy": POLICY.encode(),
    b"x-content-type-options": b"nosniff",
    b"x-frame-options": b"DENY",
    b"referrer-policy": b"no-referrer",
    b"cross-origin-opener-policy": b"same-origin",
    b"cross-origin-resource-policy": b"same-origin",
    b"permissions-policy": b"camera=(), microphone=(), geolocation=()",
    b"cache-control": b"no-store",
}


@dataclass(frozen=True, slots=True)
class Policy:
    """The host names this server answers to (with `any_address` also any IP address), and the token if needed."""

    names: frozenset[str] = LOOPBACK
    any_address: bool = False
    token: str | None = None


def policy_for(host: str, own_names: frozenset[str] = frozenset()) -> Policy:
    """Return the policy of a server bound to `host`: local access only, or with a token for other machines."""
    if is_loopback(host):
        return Policy(LOOPBACK | {host.lower()})
    names = LOOPBACK | {name.lower() for name in own_names} | {host.lower()}
    return Policy(names, any_address=True, token=secrets.token_urlsafe(24))


def is_loopback(host: str) -> bool:
    """Whether a server at this host can be reached only from this machine."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() == "localhost"


class Guard:
    """Middleware that checks every request and adds the security headers to every response."""

    def __init__(self, app: ASGIApp, policy: Policy) -> None:
        self._app, self._policy = app, policy

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on to the application, or refuse it with a reason."""
        if scope["type"] != "http":
            return

        async def sealed(message: Message) -> None:
            if message["type"] == "http.response.start":
                other_headers = [pair for pair in message.get("headers", []) if pair[0].lower() not in HEADERS]
                message = {**message, "headers": [*other_headers, *HEADERS.items()]}
            await send(message)

        headers = [(name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in scope["headers"]]
        app = self._refusal(scope, headers) or self._app
        await app(scope, receive, sealed)

    def _refusal(self, scope: Scope, headers: list[tuple[str, str]]) -> ASGIApp | None:
        by_name = dict(headers)
        if scope["method"] not in ("GET", "HEAD"):
            return _refused(405, "This dashboard only shows: GET and HEAD are all it knows.")
        hosts = [value for name, value in headers if name == "host"]
        if len(hosts) != 1 or not self._is_own_host(hosts[0]):
            return _refused(403, "This dashboard does not answer to that name: open it by the address it printed.")
        if "origin" in by_name and not _same_origin(by_name["origin"], hosts[0]):
            return _refused(403, "Another site asked for this page's data: refused.")
        cross_site = by_name.get("sec-fetch-site", "none") not in ("none", "same-origin")
        if cross_site and by_name.get("sec-fetch-mode") != "navigate":
            return _refused(403, "Another site asked for this page's data: refused.")
        return None if self._policy.token is None else self._token_refusal(scope, by_name, self._policy.token)

    def _is_own_host(self, host: str) -> bool:
        try:
            name = urlsplit(f"//{host}").hostname or ""
        except ValueError:
            return False
        if name in self._policy.names:
            return True
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return self._policy.any_address

    def _token_refusal(self, scope: Scope, headers: Mapping[str, str], token: str) -> ASGIApp | None:
        """Return the refusal of a request without the token; a token in the URL is exchanged for a cookie."""
        if _equal(_cookie(headers.get("cookie", "")), token):
            return None
        kind, _, credentials = headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer" and _equal(credentials, token):
            return None
        parameters = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        if any(name == "token" and _equal(value, token) for name, value in parameters):
            query = urlencode([(name, value) for name, value in parameters if name != "token"])
            response = RedirectResponse("/" + scope["path"].lstrip("/") + (f"?{query}" if query else ""), 303)
            response.set_cookie(COOKIE, token, httponly=True, samesite="strict", path="/")
            return response
        return _refused(
            401, "This dashboard needs its token: open it by the whole address that 'mashq view' printed."
        )


def _refused(status: int, reason: str) -> ASGIApp:
    return PlainTextResponse(reason + "\n", status)


def _same_origin(origin: str, host: str) -> bool:
    scheme, _, authority = origin.partition("://")
    return scheme in ("http", "https") and authority.lower() == host.lower()


def _equal(candidate: str, token: str) -> bool:
    return secrets.compare_digest(candidate.encode("utf-8", "replace"), token.encode())


def _cookie(text: str) -> str:
    for part in text.split(";"):
        name, _, value = part.strip().partition("=")
        if name == COOKIE:
            return value.strip('"')
    return ""
