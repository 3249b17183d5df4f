"""Which errors no repetition mends: the sentences of real providers."""

import pytest

from mashq.gateway.hopeless import hopeless
from mashq.gateway.types import Outcome


def said(status: int, message: str, code: str = "", retry_after: float | None = None) -> Outcome:
    return Outcome("http", status=status, error=f"HTTP {status}: {message}", code=code, retry_after=retry_after)


@pytest.mark.parametrize(
    ("outcome", "about"),
    [
        (said(401, "Incorrect API key provided."), "the key of p/m was refused"),
        (said(403, "Country, region, or territory not supported"), "the key of p/m was refused"),
        (said(404, "models/gemini-3.6-flahs is not found for API version v1beta"), "does not know the model p/m"),
        (said(404, "model: claude-sonet-4-5", "not_found_error"), "does not know the model p/m"),
        (said(400, "The requested model 'gpt-5.2-proo' does not exist.", "model_not_found"), "does not know"),
        (said(400, "no-such is not a valid model ID"), "does not know"),
        (
            said(429, "You exceeded your current quota, please check your plan.", "insufficient_quota"),
            "the quota of p/m",
        ),
        (said(429, "You exceeded your current quota, please check your plan."), "the quota of p/m"),
        (said(402, "Insufficient Balance"), "the quota of p/m"),
        (said(400, "Your credit balance is too low to access the Anthropic API."), "the quota of p/m"),
    ],
)
def test_hopeless(outcome: Outcome, about: str) -> None:
    sentence = hopeless("p/m", outcome)
    assert sentence is not None and about in sentence
    assert outcome.error in sentence, "in the provider's own words"


@pytest.mark.parametrize(
    "outcome",
    [
        said(403, "Your chosen model requires moderation and your input was flagged"),
        said(429, "Rate limit reached for gpt-4o in organization x on tokens per min. Please try again in 2s."),
        said(429, "You exceeded your current quota. Please retry in 32.1s."),
        said(429, "You exceeded your current quota.", retry_after=3.0),
        said(500, "The model does not exist"),
        said(400, "This model does not support effort level 'xhigh'. Supported levels: high, low."),
        said(400, "Tool call validation failed: parameters for tool x did not match schema"),
        Outcome("timeout", error="no complete reply within 3 s"),
    ],
)
def test_not_hopeless(outcome: Outcome) -> None:
    assert hopeless("p/m", outcome) is None


@pytest.mark.parametrize(
    "outcome",
    [
        said(404, "Response with id 'r1' not found."),
        said(404, "Previous response with id 'the model m does not exist' not found."),
        said(404, "File not found: f1", "not_found_error"),
        said(404, "The model `another` does not exist", "model_not_found"),
        said(404, "The model `m-mini` does not exist", "model_not_found"),
        said(400, "The model 'm' does not exist"),
        said(400, "Invalid value: 'insufficient quota'.", "invalid_value"),
        said(402, "This request requires more credits, or fewer max_tokens: you can only afford 4000."),
        said(403, "You do not have permission to access the File abc or it may not exist.", "PERMISSION_DENIED"),
        said(403, "Your API key does not have permission to use the specified resource.", "permission_error"),
    ],
    ids=lambda outcome: outcome.error,
)
def test_an_error_about_what_another_program_asked_for_is_its_own(outcome: Outcome) -> None:
    assert hopeless("p/m", outcome, foreign=True) is None


@pytest.mark.parametrize(
    "outcome",
    [
        said(404, "The model `m` does not exist", "model_not_found"),
        said(404, "model: m", "not_found_error"),
        said(404, "models/m is not found for API version v1beta", "NOT_FOUND"),
        said(404, 'model "m" not found, try pulling it first'),
        said(401, "Incorrect API key provided."),
        said(403, "Country, region, or territory not supported", "unsupported_country_region_territory"),
        said(402, "Insufficient Balance"),
        said(429, "You exceeded your current quota.", "insufficient_quota"),
    ],
    ids=lambda outcome: outcome.error,
)
def test_an_error_that_no_request_brings_about_is_the_models(outcome: Outcome) -> None:
    assert hopeless("p/m", outcome, foreign=True) is not None
