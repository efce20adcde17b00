import type { ModelProvider, ModelProviderType } from "@outrider/sdk";

interface TypeFacts {
  label: string;
  /** Said below the key. */
  keyHint: string;
  keyUrl?: string;
  baseUrl?: string;
  /** An example of a model's name. */
  model: string;
}

export const typeFacts: Record<ModelProviderType, TypeFacts> = {
  anthropic: {
    label: "Anthropic",
    keyHint: "Starts with sk-ant-.",
    keyUrl: "https://console.anthropic.com/settings/keys",
    baseUrl: "https://api.anthropic.com/v1",
    model: "claude-sonnet-5-5",
  },
  openai: {
    label: "OpenAI",
    keyHint: "Starts with sk-.",
    keyUrl: "https://platform.openai.com/api-keys",
    baseUrl: "https://api.openai.com/v1",
    model: "gpt-6-sol",
  },
  google: {
    label: "Google",
    keyHint: "A key for the Gemini API.",
    keyUrl: "https://aistudio.google.com/apikey",
    baseUrl: "https://generativelanguage.googleapis.com/v1beta",
    model: "gemini-3.8-flash",
  },
  "openai-compatible": {
    label: "OpenAI-compatible",
    keyHint: "Ollama, vLLM, llama.cpp and LM Studio usually need none.",
    model: "qwen3-coder",
  },
  "amazon-bedrock": {
    label: "Amazon Bedrock",
    keyHint: "An API key for Bedrock.",
    model: "eu.anthropic.claude-sonnet-5-5-v1:0",
  },
  "google-vertex": {
    label: "Google Vertex AI",
    keyHint: "The content of the key file of a service account, in JSON.",
    model: "gemini-3.8-flash",
  },
  azure: {
    label: "Azure OpenAI",
    keyHint: "A key of the Azure OpenAI resource.",
    model: "my-deployment",
  },
};

export const providerTypes = Object.keys(typeFacts) as ModelProviderType[];

export const sourceLabels: Record<ModelProvider["source"], string> = {
  stored: "Added here",
  file: "Models file",
  variables: "Environment variable",
};

/** Returns a name for a new provider that no other has. */
export function freeName(type: ModelProviderType, taken: string[]): string {
  const base = type === "openai-compatible" ? "local" : type;
  for (let count = 1; ; count += 1) {
    const name = count === 1 ? base : `${base}-${count}`;
    if (!taken.includes(name)) return name;
  }
}
