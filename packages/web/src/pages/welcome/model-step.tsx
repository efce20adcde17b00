import type { Model, ModelProviderType } from "@outrider/sdk";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { lazy, Suspense, useState } from "react";
import { loadPart } from "../../frame/connection.ts";
import { queries } from "../../queries.ts";
import { Button } from "../../ui/button.tsx";
import { Skeleton } from "../../ui/feedback/skeleton.tsx";
import { providerTypes, typeFacts } from "../settings/models/provider-labels.ts";
import { SCRIPTED } from "./first-run.ts";
import { Step } from "./step.tsx";

const ProviderForm = lazy(() =>
  loadPart(() => import("../settings/models/provider-form.tsx")).then((it) => ({ default: it.ProviderForm })),
);

interface ModelStepProps {
  number: number;
  model: Model | undefined;
}

/** Connects a model without leaving the page. Until then, runs use the scripted model. */
export function ModelStep({ number, model }: ModelStepProps) {
  const { data: me } = useQuery(queries.me());
  const { data: providers } = useQuery(queries.modelProviders());
  const [type, setType] = useState<ModelProviderType>();
  if (!model || !me || !providers) {
    return (
      <Step number={number} title="Connect a model" state="open">
        <Skeleton className="h-5 w-2/3" />
      </Step>
    );
  }
  const isScripted = model.model_id === SCRIPTED;
  const isAdmin = me.role === "admin";
  const form = type && (
    <div className="max-w-xl pt-3">
      <Suspense fallback={<Skeleton className="h-9 w-2/3" />}>
        <ProviderForm key={type} type={type} taken={providers.map(({ name }) => name)} hideName />
      </Suspense>
    </div>
  );
  return (
    <Step
      number={number}
      title={isScripted ? "Connect a model" : `Model: ${model.model_id}`}
      state={isScripted ? "open" : "done"}
    >
      <p className="text-muted">
        {isScripted ? (
          <>
            Without one, runs use <code className="font-mono text-xs text-ink">scripted</code>, which is not
            an LLM: it executes the lines of the prompt. That is enough for a first run and works offline.
            {!isAdmin && " Your admins connect models."}
          </>
        ) : (
          <>
            Runs use it by default.{" "}
            <Link to="/settings" search={{ section: "models" }} className="text-accent-ink underline">
              Manage models
            </Link>
          </>
        )}
      </p>
      {isAdmin && isScripted && (
        <div className="flex flex-wrap gap-2 pt-3">
          {providerTypes.map((each) => (
            <Button key={each} aria-pressed={each === type} onClick={() => setType(each)}>
              {typeFacts[each].label}
            </Button>
          ))}
        </div>
      )}
      {form}
    </Step>
  );
}
