import type { Build } from "@outrider/sdk";
import { Link } from "@tanstack/react-router";
import clsx from "clsx";
import { Info } from "lucide-react";
import { queryClient } from "../../../queries.ts";
import { buttonClass } from "../../../ui/button.tsx";
import { ErrorAlert } from "../../../ui/feedback/error-alert.tsx";
import { SkeletonRows } from "../../../ui/feedback/skeleton.tsx";
import { formatBytes } from "../../../ui/format/numbers.ts";
import { Duration, Time } from "../../../ui/format/time.tsx";
import { InlineCode } from "../../../ui/text/inline-code.tsx";
import { Snippet } from "../../../ui/text/snippet.tsx";
import { shortAddress } from "../repository.ts";
import { type Entry, useBuildLog } from "./build-log.ts";
import { BuildState, isUnfinished } from "./build-state.tsx";
import { BuildStep } from "./build-step.tsx";

/** Shows a build's state, its commits and its live log. */
export function BuildView({ build, isAdmin }: { build: Build; isAdmin: boolean }) {
  const { entries, error, isOver } = useBuildLog(build, () => {
    void queryClient.invalidateQueries({ queryKey: ["environments"] });
    void queryClient.invalidateQueries({ queryKey: ["skills"] });
  });
  const { state, version, created_at, started_at, finished_at, size_bytes, image, repositories = [] } = build;
  return (
    <section aria-label="Build" className="min-w-0 overflow-hidden rounded-xl border border-line bg-surface">
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
        {size_bytes !== undefined && <span className="text-muted">{formatBytes(size_bytes)}</span>}
      </header>
      {(image || repositories.length > 0) && (
        <ul aria-label="Sources" className="border-b border-line px-4 py-2 text-xs text-muted">
          {image && (
            <li className="truncate" title={`${image.reference} ${image.digest}`}>
              {image.reference.replace(/@sha256:.*$/, "")}{" "}
              <code className="text-ink">{image.digest.slice(0, 19)}</code>
            </li>
          )}
          {repositories.map(({ url, path, commit, ref }) => (
            <li key={path} className="truncate" title={`${url} ${commit}`}>
              {shortAddress(url)} {ref && `at ${ref.replace(/^refs\/(heads|tags)\//, "")}`}{" "}
              <code className="text-ink">{commit.slice(0, 12)}</code>
            </li>
          ))}
        </ul>
      )}
      <Failure build={build} entries={entries} isAdmin={isAdmin} />
      {error ? <ErrorAlert error={error} /> : null}
      {entries.length === 0 && !error && (
        <div className="px-4 py-2">
          {state === "QUEUED" ? (
            <p className="py-2 text-muted">Waiting for a free worker</p>
          ) : isOver ? (
            <p className="py-2 text-muted">Empty log</p>
          ) : (
            <SkeletonRows rows={3} label="Loading log" />
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
  // The command and its last lines are not repeated here, because the failed step below shows them.
  const at = steps.findIndex((step) => step.state === "failed");
  const { exitCode } = steps[at] ?? {};
  // Only commands have exit codes. Other steps, such as pulling the image, explain themselves in the message.
  const isCommand =
    at >= 0 && (exitCode !== undefined || /^`[\s\S]*` (exited|took)/.test(status_message.message));
  const words = !isCommand
    ? status_message.message
    : exitCode === undefined
      ? `Step ${at + 1} was killed.`
      : `Step ${at + 1} failed with exit code ${exitCode}.`;
  // The general remedy is about commands. Messages about images contain their own.
  const remedy = !isCommand
    ? status_message.error_code === "environment_setup_failed"
      ? undefined
      : status_message.remedy
    : "Check its last lines below, fix the command in the configuration, and build again.";
  return (
    <div role="alert" className="border-b border-line bg-bad-soft px-4 py-3">
      <p className="whitespace-pre-wrap break-words font-medium">
        <InlineCode text={words} />
      </p>
      {remedy && <p className="mt-1">{remedy}</p>}
      {isAdmin && isCommand && (
        <div className="mt-2">
          <p className="mb-1">To look inside the sandbox, open a shell where the build fails:</p>
          <Snippet what="command" code={`outrider env shell ${environment_id}`} />
        </div>
      )}
      {isAdmin && (
        <Link
          to="/environments/$environmentId"
          params={{ environmentId: environment_id }}
          search={{}}
          className={clsx(buttonClass(), "mt-2")}
        >
          Edit configuration
        </Link>
      )}
    </div>
  );
}
