import { useMutation, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Play } from "lucide-react";
import { useEffect } from "react";
import { outrider } from "../../api.ts";
import { queries } from "../../queries.ts";
import { useServiceStatus } from "../../service-status.ts";
import { Button, buttonClass } from "../../ui/button.tsx";
import { ErrorAlert } from "../../ui/feedback/error-alert.tsx";
import { PausedNotice } from "../../ui/feedback/paused-notice.tsx";
import { Page } from "../../ui/page.tsx";
import { Snippet } from "../../ui/text/snippet.tsx";
import { AccountStep } from "./account-step.tsx";
import { firstRun, SCRIPTED } from "./first-run.ts";
import { ModelStep } from "./model-step.tsx";
import { NextSteps } from "./next-steps.tsx";
import { RepositoryStep } from "./repository-step.tsx";
import { RunProgress } from "./run-watch.tsx";
import { Step } from "./step.tsx";
import { useWatchedRun } from "./watched-run.ts";
import { rememberWelcome } from "./welcome-seen.ts";
import { WorkerStatus } from "./worker-status.tsx";

export function Welcome() {
  const { data: models } = useQuery(queries.models());
  const { data: me } = useQuery(queries.me());
  const isAdmin = me?.role === "admin";
  const { acceptsRuns, message } = useServiceStatus();
  const model = models?.models.find(({ model_id }) => model_id === models.default_model_id);
  const create = useMutation({ mutationFn: () => outrider.runs.create(firstRun(model?.model_id)) });
  const watched = useWatchedRun(create.data?.run_id);
  const isDone = watched.run?.state === "SUCCEEDED";
  // Once opened, the page is not offered again, even if the user leaves early.
  useEffect(rememberWelcome, []);
  return (
    <Page
      title="Welcome to Outrider"
      lead="From here to your first run takes about a minute."
      actions={
        <Link to="/" className={buttonClass("quiet")}>
          {isDone ? "Go home" : "Skip"}
        </Link>
      }
    >
      <ol className="flex flex-col gap-3">
        <AccountStep number={1} />
        <ModelStep number={2} model={model} />
        {isAdmin && <RepositoryStep number={3} />}
        <Step
          number={isAdmin ? 4 : 3}
          title={isDone ? "First run finished" : "First run"}
          state={isDone ? "done" : "open"}
        >
          {create.data ? (
            <RunProgress runId={create.data.run_id} watched={watched} />
          ) : (
            <div className="flex flex-col gap-3">
              <p className="text-muted">
                {model?.model_id === SCRIPTED
                  ? "A script that writes a file and runs it, in a sandbox without network access."
                  : "The agent writes a file and runs it, in a sandbox without network access."}
              </p>
              <WorkerStatus />
              <Snippet what="prompt" code={firstRun(model?.model_id).prompt} />
              {acceptsRuns ? (
                create.error && <ErrorAlert error={create.error} />
              ) : (
                <PausedNotice message={message}>New runs are paused. Try again later.</PausedNotice>
              )}
              <div>
                <Button
                  variant="primary"
                  icon={<Play className="size-4" aria-hidden />}
                  busy={create.isPending}
                  disabled={!models || !acceptsRuns}
                  onClick={() => create.mutate()}
                >
                  Start first run
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
