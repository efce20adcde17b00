import { useMutation, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Play } from "lucide-react";
import { useEffect } from "react";
import { outrider } from "../../api.ts";
import { queries } from "../../queries.ts";
import { useStanding } from "../../standing.ts";
import { Button, buttonClass } from "../../ui/button.tsx";
import { Page } from "../../ui/page.tsx";
import { Problem } from "../../ui/problem.tsx";
import { Snippet } from "../../ui/snippet.tsx";
import { Stopped } from "../../ui/stopped.tsx";
import { firstRun, SCRIPTED } from "./first-run.ts";
import { ModelStep } from "./model-step.tsx";
import { NextSteps } from "./next-steps.tsx";
import { RunWatch } from "./run-watch.tsx";
import { Step } from "./step.tsx";
import { useWatchedRun } from "./watched-run.ts";
import { rememberWelcome } from "./welcomed.ts";
import { WorkerStep } from "./worker-step.tsx";

/** From nothing to a finished first run, in three steps that are done once. */
export function Welcome() {
  const { data: models } = useQuery(queries.models());
  const { takesRuns, message } = useStanding();
  const model = models?.models.find(({ model_id }) => model_id === models.default_model_id);
  const create = useMutation({ mutationFn: () => outrider.runs.create(firstRun(model?.model_id)) });
  const watched = useWatchedRun(create.data?.run_id);
  const isDone = watched.run?.state === "SUCCEEDED";
  // Seen is enough: who leaves half-way knows where it is.
  useEffect(rememberWelcome, []);
  return (
    <Page
      title="Welcome to Outrider"
      lead="Three steps to the first finished run. It takes a minute."
      actions={
        <Link to="/" className={buttonClass("quiet")}>
          {isDone ? "Go home" : "Skip"}
        </Link>
      }
    >
      <ol className="flex flex-col gap-3">
        <ModelStep model={model} />
        <WorkerStep />
        <Step
          number={3}
          title={isDone ? "Your first run is finished" : "Start a run"}
          state={isDone ? "done" : "open"}
        >
          {create.data ? (
            <RunWatch runId={create.data.run_id} watched={watched} />
          ) : (
            <div className="flex flex-col gap-3">
              <p className="text-muted">
                {model?.model_id === SCRIPTED
                  ? "A script that writes a file and runs it. Everything happens in a sandbox without network."
                  : "The agent writes a file and runs it, in a sandbox without network."}
              </p>
              <Snippet what="prompt" code={firstRun(model?.model_id).prompt} />
              {takesRuns ? (
                create.error && <Problem error={create.error} />
              ) : (
                <Stopped message={message}>New runs are not taken now. Come back later.</Stopped>
              )}
              <div>
                <Button
                  look="primary"
                  icon={<Play className="size-4" aria-hidden />}
                  busy={create.isPending}
                  disabled={!models || !takesRuns}
                  onClick={() => create.mutate()}
                >
                  Start the first run
                </Button>
              </div>
            </div>
          )}
        </Step>
      </ol>
      {isDone && <NextSteps />}
    </Page>
  );
}
