import { NotFoundError } from "@outrider/sdk";
import { keepPreviousData, queryOptions, useQuery } from "@tanstack/react-query";
import { Eye } from "lucide-react";
import { lazy, Suspense, useEffect, useMemo, useState } from "react";
import { loadPart } from "../../frame/connection.ts";
import { SkeletonRows } from "../../ui/feedback/skeleton.tsx";
import { formatDollars } from "../../ui/format/numbers.ts";
import { Time } from "../../ui/format/time.tsx";
import { RunState } from "../../ui/run-state.tsx";
import { RunDuration } from "../runs/run-duration.tsx";
import { patchVersion, useChangedCount } from "../session/changes/changed-count.ts";
import { useRunLog } from "../session/log/run-log.ts";
import { Outcome } from "../session/outcome.tsx";
import type { Tab } from "../session/tab.ts";
import { TabBar } from "../session/tab-bar.tsx";
import { Transcript } from "../session/transcript/transcript.tsx";
import { readSharedDiff, type SharedRun, sharedSource } from "./shared-run.ts";

const Artifacts = lazy(() =>
  loadPart(() => import("../session/artifacts/artifacts.tsx")).then((it) => ({ default: it.Artifacts })),
);
const Changes = lazy(() =>
  loadPart(() => import("../session/changes/changes.tsx")).then((it) => ({ default: it.Changes })),
);

const shown: Tab[] = ["transcript", "changes", "artifacts"];

interface SharedViewProps {
  token: string;
  run: SharedRun;
  tab: Tab;
  /** Called when the link stops working while the page is open. */
  onGone: () => void;
}

export function SharedView({ token, run: first, tab, onGone }: SharedViewProps) {
  const [run, setRun] = useState(first);
  const source = useMemo(() => sharedSource(token, setRun), [token]);
  const log = useRunLog(source);
  const isGone = log.status === "failed" && log.error instanceof NotFoundError;
  useEffect(() => {
    if (isGone) onGone();
  }, [isGone, onGone]);
  const changed = useChangedCount(run, sharedDiff(token, run));
  const current = shown.includes(tab) ? tab : "transcript";
  // The receipt has the title, but only after the run has started.
  const harness = run.receipt?.harness?.title ?? run.agent_config.harness;
  return (
    <main id="main" className="flex min-h-0 flex-1 flex-col">
      <div className="border-b border-line bg-surface">
        <Banner run={run} />
        <header className="flex flex-wrap items-center gap-x-3 gap-y-1 px-4 pt-3 pb-2 sm:px-6">
          <h1 className="line-clamp-2 min-w-0 text-base font-semibold tracking-tight break-words [unicode-bidi:plaintext] sm:text-lg">
            {run.title}
          </h1>
          <span role="status">
            <RunState state={run.state} phase={run.phase} boxed />
          </span>
          <p className="w-full text-xs text-muted">
            {run.creator.display_name} ·{harness && ` ${harness} ·`} {run.agent_config.model_id} ·{" "}
            <RunDuration run={run} /> · {formatDollars(run.usage.cost_usd)} · <Time at={run.created_at} />
          </p>
        </header>
        {run.state !== "QUEUED" && <Outcome run={run} isBesideQuestion={current === "transcript"} />}
        <TabBar
          shown={shown}
          current={current}
          counts={{ changes: changed, artifacts: run.artifacts?.length }}
        />
      </div>
      <div className="min-h-0 flex-1">
        {current === "transcript" ? (
          <Transcript log={log} run={run} readOnly />
        ) : (
          // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable region must be reachable by keyboard.
          <section aria-label={current} tabIndex={0} className="h-full overflow-y-auto -outline-offset-2">
            <div className="mx-auto w-full max-w-screen-2xl px-4 py-4 sm:px-6">
              <Suspense fallback={<SkeletonRows label="Loading section" />}>
                {current === "changes" && <SharedChanges token={token} run={run} />}
                {current === "artifacts" && <Artifacts artifacts={run.artifacts} source={source} />}
              </Suspense>
            </div>
          </section>
        )}
      </div>
    </main>
  );
}

function Banner({ run }: { run: SharedRun }) {
  return (
    <p className="flex items-center gap-2 bg-accent-soft px-4 py-2 text-xs text-accent-ink sm:px-6">
      <Eye className="size-4 shrink-0" aria-hidden />
      <span>
        Shared run, read-only.
        {run.share && (
          <>
            {" "}
            The link expires <Time at={run.share.expires_at} />.
          </>
        )}
      </span>
    </p>
  );
}

const sharedDiff = (token: string, run: SharedRun) =>
  queryOptions({
    queryKey: ["shared", token, "diff", patchVersion(run)],
    queryFn: () => readSharedDiff(token),
    placeholderData: keepPreviousData,
  });

function SharedChanges({ token, run }: { token: string; run: SharedRun }) {
  const { data, error, refetch } = useQuery(sharedDiff(token, run));
  return (
    <Changes patch={data} error={error} onRetry={() => void refetch()} runId={run.run_id} state={run.state} />
  );
}
