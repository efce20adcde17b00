import { isFinal } from "@outrider/contract/run-state";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import clsx from "clsx";
import { ArrowRight } from "lucide-react";
import { queries } from "../../../queries.ts";
import { buttonClass } from "../../../ui/button.tsx";
import { ErrorAlert } from "../../../ui/feedback/error-alert.tsx";
import { SkeletonRows } from "../../../ui/feedback/skeleton.tsx";
import { formatDuration } from "../../../ui/format/time.tsx";
import { RunState } from "../../../ui/run-state.tsx";
import { Ansi } from "../../../ui/text/ansi.tsx";
import { type PreviewEntry, useRunPreview } from "./preview-entries.ts";

/** Shows a short live view of a test run: messages, commands and their output. */
export function RunPreview({ runId }: { runId: string }) {
  const {
    data: run,
    error,
    refetch,
  } = useQuery({
    ...queries.run(runId),
    refetchInterval: ({ state }) => (state.data && isFinal(state.data.state) ? false : 1_000),
  });
  const { entries, error: streamError } = useRunPreview(runId, () => void refetch());
  if (error) return <ErrorAlert error={error} onRetry={() => void refetch()} />;
  return (
    <section aria-label="Test run" className="min-w-0 rounded-xl border border-line bg-surface">
      <header className="flex min-h-13 items-center gap-3 border-b border-line px-4 py-2">
        <span role="status">{run && <RunState state={run.state} phase={run.phase} />}</span>
        <Link to="/runs/$runId" params={{ runId }} className={clsx(buttonClass(), "ml-auto")}>
          Open run
          <ArrowRight className="size-4" aria-hidden />
        </Link>
      </header>
      {run?.state === "FAILED" && run.status_message && (
        <div role="alert" className="border-b border-line bg-bad-soft px-4 py-3">
          <p className="whitespace-pre-wrap break-words font-medium">{run.status_message.message}</p>
          {run.status_message.remedy && <p className="mt-1">{run.status_message.remedy}</p>}
        </div>
      )}
      {streamError != null && <ErrorAlert error={streamError} />}
      <div className="flex flex-col gap-3 p-4">
        {entries.length === 0 && !streamError && <SkeletonRows rows={3} label="Waiting for the run" />}
        {entries.map((entry) => (
          <PreviewItem key={entry.key} entry={entry} />
        ))}
      </div>
    </section>
  );
}

function PreviewItem({ entry }: { entry: PreviewEntry }) {
  if (entry.type === "said") return <p className="whitespace-pre-wrap break-words">{entry.text}</p>;
  if (entry.type === "step") return <p className="break-words text-xs text-muted">{entry.text}</p>;
  const { command, text, exitCode, durationMs } = entry;
  return (
    <div className="overflow-hidden rounded-lg border border-line">
      <div className="flex items-center gap-2 border-b border-line bg-raised px-3 py-1.5 text-xs">
        <code className="min-w-0 flex-1 truncate" title={command}>
          {command}
        </code>
        {exitCode !== undefined && (
          <span className={exitCode === 0 ? "whitespace-nowrap text-good" : "whitespace-nowrap text-bad"}>
            exit {exitCode}
          </span>
        )}
        {durationMs !== undefined && (
          <span className="whitespace-nowrap text-muted">{formatDuration(durationMs)}</span>
        )}
      </div>
      {text && (
        <section
          aria-label={`Output of ${command}`}
          // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable region must be reachable by keyboard.
          tabIndex={0}
          className="max-h-64 overflow-auto bg-code px-3 py-2 text-xs leading-5"
        >
          <Ansi text={text} />
        </section>
      )}
    </div>
  );
}
