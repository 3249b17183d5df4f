"""Known providers: where they are, which variable holds the key, and which wire formats they speak.

A model is named `provider/model`. Any other name works too, given a `base_url`. What a model takes is in
`profiles.toml`.
"""

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Provider:
    """One row of the table."""

    base_url: str
    key_env: str | None
    wire: str = "openai"
    also: tuple[tuple[str, str], ...] = ()  # further wires, and where they are below the base URL


RESPONSES = (("responses", ""),)
RESPONSES_ONLY = (
    "-pro",
    "codex",
    "deep-research",
    "computer-use",
)  # in names of models that take no other wire
MAKERS = (
    "OPENAI|AZURE_OPENAI|AZURE|AZURE_AI|ANTHROPIC|CLAUDE_CODE_OAUTH|GEMINI|GOOGLE|GOOGLE_GENAI|VERTEX|DEEPSEEK|DASHSCOPE|"
    "QWEN|XAI|GROK|MISTRAL|CODESTRAL|GROQ|OPENROUTER|TOGETHER|TOGETHERAI|TOGETHER_AI|COHERE|CO|FIREWORKS|FIREWORKS_AI|"
    "PERPLEXITY|PERPLEXITYAI|PPLX|REPLICATE|HF|HUGGINGFACE|HUGGINGFACEHUB|HUGGING_FACE_HUB|CEREBRAS|SAMBANOVA|NVIDIA|"
    "NVIDIA_NIM|MOONSHOT|KIMI|ZAI|ZHIPUAI|MINIMAX|AI21|WATSONX|WX|DATABRICKS|ANYSCALE|DEEPINFRA|NOVITA|OLLAMA|VLLM|LITELLM|"
    "LITELLM_MASTER|PYDANTIC_AI_GATEWAY|GITHUB_MODELS|BEDROCK|VOYAGE|JINA|STABILITY|LEPTON|NEBIUS|HYPERBOLIC|BASETEN"
)
KEY = re.compile(rf"({MAKERS})_(API_|ADMIN_|AUTH_|ACCESS_)*(KEY|TOKEN)(_.+|\d+)?", re.IGNORECASE)
KEYS = frozenset({"AWS_BEARER_TOKEN_BEDROCK", "GOOGLE_APPLICATION_CREDENTIALS"})

PROVIDERS: dict[str, Provider] = {
    "openai": Provider(
        "https://api.openai.com/v1",
        "OPENAI_API_KEY",
        also=RESPONSES,
    ),
    "anthropic": Provider("https://api.anthropic.com/v1", "ANTHROPIC_API_KEY", wire="anthropic"),
    "gemini": Provider(
        "https://generativelanguage.googleapis.com/v1beta",
        "GEMINI_API_KEY",
        wire="gemini",
        also=(("openai", "/openai"),),
    ),
    "deepseek": Provider("https://api.deepseek.com/v1", "DEEPSEEK_API_KEY"),
    "qwen": Provider("https://dashscope-intl.aliyuncs.com/compatible-mode/v1", "DASHSCOPE_API_KEY"),
    "xai": Provider("https://api.x.ai/v1", "XAI_API_KEY", also=RESPONSES),
    "mistral": Provider("https://api.mistral.ai/v1", "MISTRAL_API_KEY"),
    "groq": Provider("https://api.groq.com/openai/v1", "GROQ_API_KEY", also=RESPONSES),
    "openrouter": Provider(
        "https://openrouter.ai/api/v1",
        "OPENROUTER_API_KEY",
        also=(*RESPONSES, ("anthropic", "")),
    ),
    "together": Provider("https://api.together.xyz/v1", "TOGETHER_API_KEY"),
    "ollama": Provider("http://127.0.0.1:11434/v1", None, also=(*RESPONSES, ("anthropic", ""))),
    "vllm": Provider("http://127.0.0.1:8000/v1", None, also=(*RESPONSES, ("anthropic", ""))),
}
UNLISTED = Provider("", None, also=RESPONSES)
LIMIT = 512  # the output limit of models in this process, where none is set
IN_PROCESS = ("local", "none", "recorded", "simulated")


def is_simulated(model: str) -> bool:
    """Whether a model of that name is drawn, and no real one answers."""
    return model.partition("/")[0] == "simulated"


def is_key(name: str) -> bool:
    """Whether a variable of that name holds the key to a maker or a host of models."""
    return name.upper() in KEYS or KEY.fullmatch(name) is not None


def wire_of(provider: str, model: str, base_url: str) -> str:
    """The wire by which a model is asked unless it is said."""
    if provider == "openai" and any(part in model for part in RESPONSES_ONLY):
        return "responses"
    listed = PROVIDERS.get(provider, UNLISTED)
    places = (name for name, place in listed.also if place and base_url.rstrip("/").endswith(place))
    return next(places, listed.wire)


def also_spoken(provider: str, wire: str, base_url: str) -> list[tuple[str, str]]:
    """The further wires by which a model can be asked, each with its base URL.

    A server of the user's own that speaks OpenAI's chat completions is taken to speak its Responses, too.
    """
    listed = PROVIDERS.get(provider, UNLISTED)
    spoken = {listed.wire: "", **dict(listed.also)}
    if wire not in spoken:
        return []
    root = base_url.rstrip("/").removesuffix(spoken[wire])
    return [(name, root + place) for name, place in spoken.items() if name != wire]
