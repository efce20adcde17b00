import type { Build } from "@outrider/sdk";
import { Link } from "@tanstack/react-router";
import clsx from "clsx";
import { Info } from "lucide-react";
import { queryClient } from "../../queries.ts";
import { bytes } from "../../ui/amount.ts";
import { buttonClass } from "../../ui/button.tsx";
import { Problem } from "../../ui/problem.tsx";
import { SkeletonRows } from "../../ui/skeleton.tsx";
import { Duration, Time } from "../../ui/time.tsx";
import { type Entry, useBuildLog } from "./build-log.ts";
import { BuildState, isUnfinished } from "./build-state.tsx";
import { BuildStep } from "./build-step.tsx";
import { shortAddress } from "./repository.ts";

/** One build: how it stands, from which commits, and its log as it is written. */
export function BuildView({ build, isAdmin }: { build: Build; isAdmin: boolean }) {
  const { entries, error, isOver } = useBuildLog(build, () => {
    void queryClient.invalidateQueries({ queryKey: ["environments"] });
    void queryClient.invalidateQueries({ queryKey: ["skills"] });
  });
  const { state, version, created_at, started_at, finished_at, size_bytes, repositories = [] } = build;
  return (
    <section aria-label="Build" className="min-w-0 rounded-xl border border-line bg-surface">
      <header className="flex flex-wrap items-center gap-x-4 gap-y-1 border-b border-line px-4 py-3">
        <span role="status">
          <BuildState state={state} />
        </span>
        <span className="text-muted">
          version {version} · <Time at={created_at} />
        </span>
        {started_at && (
          <span className="text-muted">
            took <Duration from={started_at} to={finished_at} />
          </span>
        )}
        {size_bytes !== undefined && <span className="text-muted">{bytes(size_bytes)}</span>}
      </header>
      {repositories.length > 0 && (
        <ul className="border-b border-line px-4 py-2 text-xs text-muted">
          {repositories.map(({ url, path, commit, ref }) => (
            <li key={path} className="truncate" title={`${url} ${commit}`}>
              {shortAddress(url)} {ref && `at ${ref.replace(/^refs\/(heads|tags)\//, "")}`}{" "}
              <code className="text-ink">{commit.slice(0, 12)}</code>
            </li>
          ))}
        </ul>
      )}
      <Failure build={build} entries={entries} isAdmin={isAdmin} />
      {error ? <Problem error={error} /> : null}
      {entries.length === 0 && !error && (
        <div className="px-4 py-2">
          {state === "QUEUED" ? (
            <p className="py-2 text-muted">It waits for a worker that has time for it.</p>
          ) : isOver ? (
            <p className="py-2 text-muted">The log is empty.</p>
          ) : (
            <SkeletonRows rows={3} label="Loading the log" />
          )}
        </div>
      )}
      <ol aria-label="Steps">
        {entries.map((entry, index) =>
          entry.type === "notice" ? (
            <li key={entry.seq} className="flex items-start gap-2 border-b border-line px-3 py-2 text-xs">
              <Info className="size-4 shrink-0 text-muted" aria-hidden />
              <span className="min-w-0 break-words">{entry.message}</span>
            </li>
          ) : (
            <BuildStep
              key={entry.seq}
              step={entry}
              isOver={!isUnfinished(build) || entries.slice(index + 1).some(({ type }) => type === "step")}
            />
          ),
        )}
      </ol>
    </section>
  );
}

function Failure({ build, entries, isAdmin }: { build: Build; entries: readonly Entry[]; isAdmin: boolean }) {
  const { state, status_message, environment_id } = build;
  if (state !== "FAILED" || !status_message) return null;
  const steps = entries.filter((entry) => entry.type === "step");
  // The command and its last lines stand below, in the step that failed.
  const at = steps.findIndex((step) => step.state === "failed");
  const { exitCode } = steps[at] ?? {};
  const words =
    at < 0
      ? status_message.message
      : `Step ${at + 1} ended with exit code ${exitCode ?? "none: it was killed"}.`;
  const remedy =
    at < 0
      ? status_message.remedy
      : "Its last lines below say why. Correct the command in the configuration, then build again.";
  return (
    <div role="alert" className="border-b border-line bg-bad-soft px-4 py-3">
      <p className="whitespace-pre-wrap break-words font-medium">{words}</p>
      {remedy && <p className="mt-1">{remedy}</p>}
      {isAdmin && (
        <Link
          to="/environments/$environmentId"
          params={{ environmentId: environment_id }}
          search={{}}
          className={clsx(buttonClass(), "mt-2")}
        >
          Edit the configuration
        </Link>
      )}
    </div>
  );
}
