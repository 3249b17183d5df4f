"""Known providers: where they are, which variable holds the key, and which wire format they speak.

A model is named `provider/model`. Any other name works too, given a `base_url`. What a model takes is in
`profiles.toml`.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Provider:
    """One row of the table."""

    base_url: str
    key_env: str | None
    wire: str = "openai"


PROVIDERS: dict[str, Provider] = {
    "openai": Provider("https://api.openai.com/v1", "OPENAI_API_KEY"),
    "anthropic": Provider("https://api.anthropic.com/v1", "ANTHROPIC_API_KEY", wire="anthropic"),
    "gemini": Provider("https://generativelanguage.googleapis.com/v1beta/openai", "GEMINI_API_KEY"),
    "deepseek": Provider("https://api.deepseek.com/v1", "DEEPSEEK_API_KEY"),
    "qwen": Provider("https://dashscope-intl.aliyuncs.com/compatible-mode/v1", "DASHSCOPE_API_KEY"),
    "xai": Provider("https://api.x.ai/v1", "XAI_API_KEY"),
    "mistral": Provider("https://api.mistral.ai/v1", "MISTRAL_API_KEY"),
    "groq": Provider("https://api.groq.com/openai/v1", "GROQ_API_KEY"),
    "openrouter": Provider("https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
    "together": Provider("https://api.together.xyz/v1", "TOGETHER_API_KEY"),
    "ollama": Provider("http://127.0.0.1:11434/v1", None),
    "vllm": Provider("http://127.0.0.1:8000/v1", None),
}
UNLISTED = Provider("", None)
LIMIT = 512  # the output limit of models in this process, where none is set
IN_PROCESS = ("local", "recorded", "simulated")
