import type { ModelProvider, ModelProviderType } from "@outrider/sdk";
import { useState } from "react";
import { Dialog } from "../../../ui/overlay/dialog.tsx";
import { ProviderForm } from "./provider-form.tsx";
import { providerTypes, typeFacts } from "./provider-labels.ts";

interface ProviderSheetProps {
  /** The provider to edit. Absent for a new one. */
  provider?: ModelProvider | undefined;
  taken: string[];
  onClose: () => void;
}

export function ProviderSheet({ provider, taken, onClose }: ProviderSheetProps) {
  const [type, setType] = useState<ModelProviderType | undefined>(provider?.type);
  const title = provider
    ? `Edit ${provider.name}`
    : type
      ? `Connect ${typeFacts[type].label}`
      : "Add provider";
  return (
    <Dialog
      open
      sheet
      keepOpen
      onClose={onClose}
      title={title}
      description="The key is encrypted, and nobody can read it again. It never enters a sandbox."
    >
      {type ? (
        <ProviderForm type={type} provider={provider} taken={taken} onClose={onClose} />
      ) : (
        <TypeChoice onChoose={setType} />
      )}
    </Dialog>
  );
}

export function TypeChoice({ onChoose }: { onChoose: (type: ModelProviderType) => void }) {
  return (
    <ul className="grid gap-2 sm:grid-cols-2" aria-label="Types of providers">
      {providerTypes.map((type) => (
        <li key={type}>
          <button
            type="button"
            onClick={() => onChoose(type)}
            className="flex w-full flex-col items-start rounded-lg border border-line bg-surface px-3 py-2.5 text-left hover:bg-raised"
          >
            <span className="font-medium">{typeFacts[type].label}</span>
            <span className="text-xs text-muted">{descriptions[type]}</span>
          </button>
        </li>
      ))}
    </ul>
  );
}

const descriptions: Record<ModelProviderType, string> = {
  anthropic: "Claude models, with an API key",
  openai: "GPT models, with an API key",
  google: "Gemini models, with an API key",
  "openai-compatible": "Ollama, vLLM, LM Studio or a gateway",
  "amazon-bedrock": "Models in your AWS account",
  "google-vertex": "Gemini in your Google Cloud project",
  azure: "GPT deployments in your Azure account",
};
