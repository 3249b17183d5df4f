"""Known providers: where they are, which variable holds the key, and where their wire format differs.

A model is named `provider/model`. Any other name works too, given a `base_url`.
"""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Provider:
    """One row of the table."""

    base_url: str
    key_env: str | None
    wire: str = "openai"
    json: Literal["schema", "object", "none"] = "schema"
    max_tokens_key: str = "max_tokens"
    seed: bool = False


PROVIDERS: dict[str, Provider] = {
    "openai": Provider(
        "https://api.openai.com/v1", "OPENAI_API_KEY", max_tokens_key="max_completion_tokens", seed=True
    ),
    "anthropic": Provider("https://api.anthropic.com/v1", "ANTHROPIC_API_KEY", wire="anthropic", json="none"),
    "gemini": Provider("https://generativelanguage.googleapis.com/v1beta/openai", "GEMINI_API_KEY"),
    "deepseek": Provider("https://api.deepseek.com/v1", "DEEPSEEK_API_KEY", json="object"),
    "qwen": Provider(
        "https://dashscope-intl.aliyuncs.com/compatible-mode/v1", "DASHSCOPE_API_KEY", json="object", seed=True
    ),
    "xai": Provider("https://api.x.ai/v1", "XAI_API_KEY", seed=True),
    "mistral": Provider("https://api.mistral.ai/v1", "MISTRAL_API_KEY"),
    "groq": Provider("https://api.groq.com/openai/v1", "GROQ_API_KEY", json="object", seed=True),
    "openrouter": Provider("https://openrouter.ai/api/v1", "OPENROUTER_API_KEY", json="object", seed=True),
    "together": Provider("https://api.together.xyz/v1", "TOGETHER_API_KEY", seed=True),
    "ollama": Provider("http://127.0.0.1:11434/v1", None, seed=True),
    "vllm": Provider("http://127.0.0.1:8000/v1", None, seed=True),
}
UNLISTED = Provider("", None, json="none", seed=True)
IN_PROCESS = ("local", "recorded", "simulated")


def takes_no_temperature(provider: str, model: str) -> bool:
    """Whether a model refuses any temperature but its own (OpenAI's reasoning families)."""
    return provider == "openai" and model.startswith(("o1", "o3", "o4", "gpt-5"))
