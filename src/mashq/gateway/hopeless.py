"""Errors that no repetition mends: a key refused, a model unknown, a quota used up. A pure judgement."""

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
_SOON = re.compile(r"(retry|try again) (in|after) ", re.IGNORECASE)


def hopeless(model: str, outcome: Outcome, *, foreign: bool = False) -> str | None:
    """The sentence about an error that every further call of `model` would meet; None for any other outcome.

    `foreign`: the request was another program's, so that the error must say that it is about the model.
    """
    if outcome.kind != "http":
        return None
    status, error, code = outcome.status, outcome.error, outcome.code
    if _is_quota(outcome):
        return f"the quota of {model} is used up ({error}): top it up, or play on another model"
    if status == 401 or (status == 403 and not _MODERATED.search(error)):
        return f"the key of {model} was refused ({error}): give it one that works, see models.{model}.api_key_env"
    unknown = code in _NO_CODE or bool(_NO_MODEL.search(error))
    if (status == 404 and (unknown or not foreign)) or (status == 400 and unknown and not foreign):
        return f"the provider does not know the model {model} ({error}): check its name and its base_url"
    return None


def _is_quota(outcome: Outcome) -> bool:
    """Whether money or allowance has run out, which is not a limit of requests in a time."""
    if outcome.status == 402 or outcome.code in _QUOTA_CODE:
        return True
    said = outcome.status in (400, 403, 429) and _QUOTA.search(outcome.error)
    return bool(said) and outcome.retry_after is None and not _SOON.search(outcome.error)
