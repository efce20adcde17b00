import type { RunAgentRequest } from "@outrider/sdk";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { Sparkles } from "lucide-react";
import { outrider } from "../../api.ts";
import { queries } from "../../queries.ts";
import { useStanding } from "../../standing.ts";
import { Button } from "../../ui/button.tsx";
import { Empty } from "../../ui/empty.tsx";
import { Problem } from "../../ui/problem.tsx";
import { firstRun } from "../welcome/first-run.ts";

/** Before there is any run: one that works here and now, and is honest about what plays it. */
export function FirstRun() {
  const navigate = useNavigate();
  const { data: models } = useQuery(queries.models());
  const { takesRuns } = useStanding();
  const start = useMutation({
    mutationFn: (request: RunAgentRequest) => outrider.runs.create(request),
    onSuccess: ({ run_id }) => void navigate({ to: "/runs/$runId", params: { runId: run_id } }),
  });
  if (!models) return null;
  const isScripted = models.default_model_id === "scripted";
  const request = firstRun(isScripted ? undefined : models.default_model_id);
  return (
    <section className="rounded-xl border border-line bg-surface">
      <Empty
        icon={<Sparkles className="size-5" aria-hidden />}
        title="Start with a first run"
        action={
          <Button
            look="plain"
            busy={start.isPending}
            disabled={!takesRuns}
            onClick={() => start.mutate(request)}
          >
            Run this
          </Button>
        }
      >
        {isScripted
          ? "No model is configured yet, so this one is played by the scripted model. It is no LLM: it carries out the lines below as they stand, in a real sandbox."
          : `A small task for ${models.default_model_id}, in a sandbox of its own. You can watch every step.`}
        <pre className="mt-4 overflow-x-auto rounded-lg border border-line bg-code p-3 text-left font-mono text-xs whitespace-pre-wrap text-ink">
          {request.prompt}
        </pre>
        {start.error && <Problem error={start.error} />}
      </Empty>
    </section>
  );
}
