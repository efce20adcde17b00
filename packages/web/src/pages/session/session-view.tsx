import type { RunItem } from "@outrider/sdk";
import { lazy, Suspense, useCallback, useEffect, useMemo, useState } from "react";
import { queryClient } from "../../queries.ts";
import { SkeletonRows } from "../../ui/skeleton.tsx";
import type { RunAction } from "./actions/actions.tsx";
import { Composer } from "./composer/composer.tsx";
import { sendLetter } from "./composer/send.ts";
import { Header } from "./header.tsx";
import { apiSource } from "./log/api-source.ts";
import { useRunLog } from "./log/log.ts";
import { Outcome } from "./outcome.tsx";
import { useSteering } from "./steering.ts";
import { type Tab, tabs } from "./tab.ts";
import { TabBar } from "./tab-bar.tsx";
import { Transcript } from "./transcript/transcript.tsx";

const OtherTab = lazy(() => import("./other-tab.tsx").then((it) => ({ default: it.OtherTab })));

export function SessionView({ run, tab }: { run: RunItem; tab: Tab }) {
  const { run_id: runId } = run;
  const source = useMemo(() => apiSource(runId), [runId]);
  const log = useRunLog(source);
  const steering = useSteering(run);
  const [action, setAction] = useState<RunAction>();

  // Each milestone changes what the run itself says: state, phase, receipt, artifacts.
  const milestone = log.milestones.at(-1)?.seq;
  useEffect(() => {
    if (milestone !== undefined) void queryClient.invalidateQueries({ queryKey: ["run", runId] });
  }, [milestone, runId]);
  // A log that is refused may be that of a run which somebody deleted.
  const isRefused = log.status === "failed";
  useEffect(() => {
    if (isRefused) void queryClient.invalidateQueries({ queryKey: ["run", runId] });
  }, [isRefused, runId]);
  const { wake } = log;
  // A run that was reopened elsewhere is live again: the log need not wait for its next look.
  useEffect(() => {
    if (run.state === "QUEUED" || run.state === "INPROGRESS") wake();
  }, [run.state, wake]);
  const answer = useCallback(
    async (message: string) => {
      await sendLetter(runId, { message });
      wake();
    },
    [runId, wake],
  );

  const composed = useComposed(run);
  return (
    <main id="main" data-fills className="flex min-h-96 flex-1 flex-col">
      <div className="border-b border-line bg-surface">
        <Header run={run} steering={steering} open={action} onOpen={setAction} />
        <Outcome run={run} onRerun={() => setAction("rerun")} isBesideQuestion={tab === "transcript"} />
        <TabBar
          shown={tabs}
          current={tab}
          counts={{ changes: log.files.length, artifacts: run.artifacts?.length }}
        />
      </div>
      <div className="min-h-0 flex-1">
        {tab === "transcript" ? (
          <Transcript log={log} run={run} {...(steering?.may ? { onAnswer: answer } : { readOnly: true })} />
        ) : (
          <Suspense fallback={<SkeletonRows />}>
            <OtherTab tab={tab} run={run} log={log} />
          </Suspense>
        )}
      </div>
      <div className="border-t border-line bg-canvas px-3 py-2 sm:px-6 sm:py-3">
        {steering?.may === false ? (
          <p className="mx-auto max-w-4xl py-1 text-muted">{steering.why}</p>
        ) : (
          <Composer run={composed} onSent={wake} />
        )}
      </div>
    </main>
  );
}

/** What the composer needs of a run, the same object as long as none of it changes: it must not be drawn with each event. */
function useComposed({ run_id, state, limits, status_message }: RunItem) {
  return useMemo(
    () => ({ run_id, state, ...(limits && { limits }), ...(status_message && { status_message }) }),
    [run_id, state, limits, status_message],
  );
}
