import type { Model } from "@outrider/sdk";
import { Disclosure } from "../../ui/disclosure.tsx";
import { Skeleton } from "../../ui/feedback/skeleton.tsx";
import { ModelSetup } from "../settings/model-setup.tsx";
import { SCRIPTED } from "./first-run.ts";
import { Step } from "./step.tsx";

export function ModelStep({ model }: { model: Model | undefined }) {
  if (!model) {
    return (
      <Step number={1} title="Model" state="open">
        <Skeleton className="h-5 w-2/3" />
      </Step>
    );
  }
  if (model.model_id !== SCRIPTED) {
    return (
      <Step number={1} title={`Model: ${model.model_id}`} state="done">
        <p className="text-muted">Runs use it by default. See Settings → Models for more.</p>
      </Step>
    );
  }
  return (
    <Step number={1} title="Model: scripted" state="done">
      <p className="text-muted">
        No provider is configured, so runs use <code className="font-mono text-xs text-ink">scripted</code>,
        which is not an LLM: it executes the lines of the prompt. That is enough for a first run and works
        offline.
      </p>
      <Disclosure className="mt-1" summary="Connect a real model">
        <ModelSetup />
      </Disclosure>
    </Step>
  );
}
