import type { Model } from "@outrider/sdk";
import { Disclosure } from "../../ui/disclosure.tsx";
import { Skeleton } from "../../ui/skeleton.tsx";
import { ModelSetup } from "../settings/model-setup.tsx";
import { SCRIPTED } from "./first-run.ts";
import { Step } from "./step.tsx";

export function ModelStep({ model }: { model: Model | undefined }) {
  if (!model) {
    return (
      <Step number={1} title="The model" state="open">
        <Skeleton className="h-5 w-2/3" />
      </Step>
    );
  }
  if (model.model_id !== SCRIPTED) {
    return (
      <Step number={1} title={`The model is ${model.model_id}`} state="done">
        <p className="text-muted">It answers runs that name no other. More are under Settings, Models.</p>
      </Step>
    );
  }
  return (
    <Step number={1} title="The model is a script" state="done">
      <p className="text-muted">
        No provider is configured, so the model is{" "}
        <code className="font-mono text-xs text-ink">scripted</code>: no LLM, it carries out the lines of the
        prompt. That is enough for the first run, and works offline.
      </p>
      <Disclosure className="mt-1" summary="Configure a model that understands words">
        <ModelSetup />
      </Disclosure>
    </Step>
  );
}
