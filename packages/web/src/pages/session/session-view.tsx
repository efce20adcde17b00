import type { RunItem } from "@outrider/sdk";
import { lazy, Suspense, useEffect, useMemo, useState } from "react";
import { loadPart } from "../../frame/connection.ts";
import { useOfferedRun } from "../../frame/current-run.ts";
import { queries, queryClient } from "../../queries.ts";
import { SkeletonRows } from "../../ui/feedback/skeleton.tsx";
import type { RunAction } from "./actions/actions.tsx";
import { patchVersion, useChangedCount } from "./changes/changed-count.ts";
import { Composer } from "./composer/composer.tsx";
import { Header } from "./header.tsx";
import { apiSource } from "./log/api-source.ts";
import { useRunLog } from "./log/run-log.ts";
import { useLoggedState } from "./logged-state.ts";
import { Outcome } from "./outcome.tsx";
import { usePublications } from "./publishing/use-publications.ts";
import { useSteering } from "./steering.ts";
import { type Tab, tabs } from "./tab.ts";
import { TabBar } from "./tab-bar.tsx";
import { Transcript } from "./transcript/transcript.tsx";

const Approval = lazy(() =>
  loadPart(() => import("./publishing/approval.tsx")).then((it) => ({ default: it.Approval })),
);
const OtherTab = lazy(() =>
  loadPart(() => import("./other-tab.tsx")).then((it) => ({ default: it.OtherTab })),
);

export function SessionView({ run: fetched, tab }: { run: RunItem; tab: Tab }) {
  const { run_id: runId } = fetched;
  const source = useMemo(() => apiSource(runId), [runId]);
  const log = useRunLog(source);
  const run = useLoggedState(fetched, log.milestones);
  const steering = useSteering(run);
  const changed = useChangedCount(run, queries.diff(runId, patchVersion(run)));
  const [action, setAction] = useState<RunAction>();
  useOfferedRun({ run, isAllowed: steering?.isAllowed ?? false, open: setAction });

  // Each milestone means that the run's state, phase, receipt or artifacts have changed.
  const milestone = log.milestones.at(-1)?.seq;
  useEffect(() => {
    if (milestone !== undefined) void queryClient.invalidateQueries({ queryKey: ["run", runId] });
  }, [milestone, runId]);
  // If the server rejects a log request, the run may have been deleted.
  const isRejected = log.status === "failed";
  useEffect(() => {
    if (isRejected) void queryClient.invalidateQueries({ queryKey: ["run", runId] });
  }, [isRejected, runId]);
  const { wake } = log;
  // A run that was continued elsewhere is active again, so the log is polled at once.
  useEffect(() => {
    if (run.state === "QUEUED" || run.state === "INPROGRESS") wake();
  }, [run.state, wake]);

  const isBlocked = run.state === "BLOCKED";
  const { data: published, isPending } = usePublications(runId, isBlocked);
  const awaiting = isBlocked
    ? (published?.publications ?? []).filter(({ state }) => state === "AWAITING_APPROVAL")
    : [];
  const isApproval = awaiting.length > 0;
  const composed = useComposed(run);
  return (
    <main id="main" data-fills className="flex min-h-96 flex-1 flex-col">
      <div className="border-b border-line bg-surface">
        <Header run={run} steering={steering} open={action} onOpen={setAction} />
        {/* Until the reason is known, neither a question nor an approval is shown. */}
        {!(isBlocked && (isPending || isApproval)) && (
          <Outcome run={run} onRerun={() => setAction("rerun")} isBesideQuestion={tab === "transcript"} />
        )}
        <TabBar shown={tabs} current={tab} counts={{ changes: changed, artifacts: run.artifacts?.length }} />
      </div>
      <div className="min-h-0 flex-1">
        {tab === "transcript" ? (
          <Transcript log={log} run={run} readOnly={!steering?.isAllowed || isApproval} />
        ) : (
          <Suspense fallback={<SkeletonRows label="Loading section" />}>
            <OtherTab tab={tab} run={run} log={log} isAllowed={steering?.isAllowed ?? false} />
          </Suspense>
        )}
      </div>
      <div data-bottom-bar className="border-t border-line bg-canvas px-3 py-2 sm:px-6 sm:py-3">
        {isApproval ? (
          <div className="flex max-h-[50dvh] flex-col gap-2 overflow-y-auto">
            <Suspense>
              {awaiting.map((publication) => (
                <Approval
                  key={publication.publication_id}
                  publication={publication}
                  canDecide={steering?.isAllowed ?? false}
                  linksToChanges={tab !== "changes"}
                  onDecided={wake}
                />
              ))}
            </Suspense>
          </div>
        ) : steering?.isAllowed === false ? (
          <p className="mx-auto max-w-4xl py-1 text-muted">{steering.reason}</p>
        ) : (
          <Composer run={composed} onSent={wake} />
        )}
      </div>
    </main>
  );
}

/**
 * Selects the fields that the composer needs. The object is replaced only when they change, so that events do not
 * re-render the composer.
 */
function useComposed({ run_id, state, limits, status_message }: RunItem) {
  return useMemo(
    () => ({ run_id, state, ...(limits && { limits }), ...(status_message && { status_message }) }),
    [run_id, state, limits, status_message],
  );
}
