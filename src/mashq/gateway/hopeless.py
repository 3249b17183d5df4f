"""Errors that no repetition mends: a key refused, a model unknown, a quota used up. A pure judgement.

What another program asked for can be refused for reasons of its own, and errors quote what they refuse. So of its
requests only what no request can bring about says anything of the model: a key that is refused, the provider's codes
for accounts, a sentence that begins with the model's own name, a server that is not there or says it is overloaded.
"""

import re

from mashq.gateway.types import Outcome

_MODERATED = re.compile(r"moderat|flagged|content|polic|safety", re.IGNORECASE)
_NO_CODE = frozenset({"model_not_found", "DeploymentNotFound", "not_found_error", "invalid_model"})
_NO_MODEL = re.compile(
    r"\b(unknown|invalid|unsupported|no such) model\b|\bmodels?\b.{0,120}?\b(does not exist|not exist|not found|"
    r"is not (a valid|available|supported by|known)|not a valid)\b|not a valid model|no endpoints found",
    re.IGNORECASE,
)
_QUOTA_CODE = frozenset({"insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "billing_error"})
_QUOTA = re.compile(
    r"insufficient[ _](quota|balance|credits?|funds)|credit balance is too low|(used|spent) (up )?all (available )?"
    r"(the |your )?credits|spending limit|exceeded your current quota",
    re.IGNORECASE,
)
_KEY_CODE = frozenset(
    {"invalid_api_key", "authentication_error", "UNAUTHENTICATED", "account_deactivated"}
    | {"unsupported_country_region_territory"}
)
_NO_MONEY = re.compile(r"HTTP 402: insufficient (balance|credits?|funds|quota)\b", re.IGNORECASE)
_AWAY = frozenset({502, 503, 529})
_SOON = re.compile(r"(retry|try again) (in|after) ", re.IGNORECASE)


def hopeless(model: str, outcome: Outcome, *, foreign: bool = False) -> str | None:
    """The sentence about an error that every further call of `model` would meet; None for any other outcome.

    `foreign`: the request was another program's, so that the error must be one that no request can bring about.
    """
    if outcome.kind != "http":
        return None
    error = outcome.error
    if _no_quota_at_all(outcome) if foreign else _is_quota(outcome):
        return f"the quota of {model} is used up ({error}): top it up, or play on another model"
    if _is_key(outcome, foreign=foreign):
        return f"the key of {model} was refused ({error}): give it one that works, see models.{model}.api_key_env"
    if _is_named(model, error) if foreign else _is_unknown(outcome):
        return f"the provider does not know the model {model} ({error}): check its name and its base_url"
    return None


def unprovoked(outcome: Outcome) -> bool:
    """Whether no request, whatever stands in it, brings such a failure about: the provider is away, for everyone."""
    return outcome.kind == "unreachable" or outcome.status in _AWAY


def _is_key(outcome: Outcome, *, foreign: bool) -> bool:
    if outcome.status == 403:
        return outcome.code in _KEY_CODE if foreign else not _MODERATED.search(outcome.error)
    return outcome.status == 401


def _is_unknown(outcome: Outcome) -> bool:
    unknown = outcome.code in _NO_CODE or bool(_NO_MODEL.search(outcome.error))
    return outcome.status == 404 or (outcome.status == 400 and unknown)


def _is_named(model: str, error: str) -> bool:
    """Whether an error begins with the model: further on it could be quoting the request."""
    name = re.escape(model.partition("/")[2])
    return (
        re.match(rf"HTTP 404: (the )?(requested )?models?\b\W*{name}(?![\w.-]*\w)", error, re.IGNORECASE) is not None
    )


def _no_quota_at_all(outcome: Outcome) -> bool:
    """Not a request that is too dear for what is left, which a 402 says as well."""
    return outcome.code in _QUOTA_CODE or _NO_MONEY.match(outcome.error) is not None


def _is_quota(outcome: Outcome) -> bool:
    """Whether money or allowance has run out, which is not a limit of requests in a time."""
    if outcome.status == 402 or outcome.code in _QUOTA_CODE:
        return True
    stated = outcome.status in (400, 403, 429) and _QUOTA.search(outcome.error)
    return bool(stated) and outcome.retry_after is None and not _SOON.search(outcome.error)
