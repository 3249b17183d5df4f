"""Whether the servers can be reached, found out before anything is paid for and without sending a request."""

import asyncio
import ssl
from urllib.parse import unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

from mashq.errors import ConfigError

PATIENCE = 10.0


async def reach(urls: dict[str, str]) -> None:
    """Open and close a connection to each model's base URL; ConfigError when one cannot be made."""
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(_reach(model, url)) for model, url in sorted(urls.items())]
    for task in tasks:
        problem = task.result()
        if problem is not None:
            raise ConfigError(problem)


def proxy_of(url: str) -> str | None:
    """The proxy that the environment names for a URL, if any."""
    parts = urlsplit(url)
    proxy = getproxies().get(parts.scheme)
    return None if proxy is None or proxy_bypass(parts.hostname or "") else proxy


def secrets_in(proxy: str | None) -> list[str]:
    """What nobody may see of a proxy's address: its password, and user and password where they stand, each as it is
    written and as it is meant. It need not be a URL: an address with a mistake in it holds a password as well."""
    user, _, host = (proxy or "").rpartition("@")
    user = user.partition("://")[2] or user
    hidden = [user, user.partition(":")[2], f"{user}@{host}"] if user else []
    return [*hidden, *map(unquote, hidden)]


async def _reach(model: str, url: str) -> str | None:
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        if proxy_of(url) is not None:
            return None
        secure = parts.scheme == "https"
        port = parts.port or (443 if secure else 80)
        async with asyncio.timeout(PATIENCE):
            _, writer = await asyncio.open_connection(
                host, port, ssl=ssl.create_default_context() if secure else None
            )
        writer.close()
    except TimeoutError:
        why = f"no connection within {PATIENCE:g} s"
    except (OSError, ValueError, UnicodeError) as error:
        why = str(error)
    else:
        return None
    return f"the server of {model} at {url} cannot be reached ({why}): start it, or fix its base_url"
