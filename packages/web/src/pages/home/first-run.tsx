import type { RunAgentRequest } from "@outrider/sdk";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { Sparkles } from "lucide-react";
import { outrider } from "../../api.ts";
import { queries } from "../../queries.ts";
import { useServiceStatus } from "../../service-status.ts";
import { Button } from "../../ui/button.tsx";
import { EmptyState } from "../../ui/feedback/empty-state.tsx";
import { ErrorAlert } from "../../ui/feedback/error-alert.tsx";
import { firstRun, SCRIPTED } from "../welcome/first-run.ts";

/** Offers an example run if there are no runs yet. */
export function FirstRun() {
  const navigate = useNavigate();
  const { data: models } = useQuery(queries.models());
  const { acceptsRuns } = useServiceStatus();
  const start = useMutation({
    mutationFn: (request: RunAgentRequest) => outrider.runs.create(request),
    onSuccess: ({ run_id }) => void navigate({ to: "/runs/$runId", params: { runId: run_id } }),
  });
  if (!models) return null;
  const isScripted = models.default_model_id === SCRIPTED;
  const request = firstRun(isScripted ? undefined : models.default_model_id);
  return (
    <section className="rounded-xl border border-line bg-surface">
      <EmptyState
        icon={<Sparkles className="size-5" aria-hidden />}
        title="Start your first run"
        action={
          <Button
            variant="plain"
            busy={start.isPending}
            disabled={!acceptsRuns}
            onClick={() => start.mutate(request)}
          >
            Run example
          </Button>
        }
      >
        {isScripted
          ? "No model is configured yet, so this run uses the scripted model. It is not an LLM: it executes the lines below in a real sandbox."
          : `A small task for ${models.default_model_id} in its own sandbox. You can watch every step.`}
        <pre className="mt-4 overflow-x-auto rounded-lg border border-line bg-code p-3 text-left font-mono text-xs whitespace-pre-wrap text-ink">
          {request.prompt}
        </pre>
        {start.error && <ErrorAlert error={start.error} />}
      </EmptyState>
    </section>
  );
}
