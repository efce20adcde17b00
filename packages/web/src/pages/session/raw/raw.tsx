import { useQuery } from "@tanstack/react-query";
import { Download } from "lucide-react";
import { useState } from "react";
import { showToast } from "../../../frame/toasts.ts";
import { describeError } from "../../../request-error.ts";
import { Button } from "../../../ui/button.tsx";
import { download } from "../../../ui/download.ts";
import { ErrorAlert } from "../../../ui/feedback/error-alert.tsx";
import { SkeletonRows } from "../../../ui/feedback/skeleton.tsx";
import { Section } from "../../../ui/page.tsx";
import { CopyButton } from "../../../ui/text/copy.tsx";
import { TextRegion } from "../../../ui/text/text-region.tsx";
import type { LogView } from "../log/log-view.ts";
import { RawLine } from "./raw-line.tsx";

const PAGE = 100;

interface RawProps {
  run: { run_id: string };
  log: LogView;
  /** Fetches all events as NDJSON. */
  fetchLines: () => Promise<Response>;
}

/** Shows the run and its events as the API returns them. */
export function Raw({ run, log, fetchLines }: RawProps) {
  const json = JSON.stringify(run, null, 2);
  const [isSaving, setIsSaving] = useState(false);
  const save = async () => {
    setIsSaving(true);
    try {
      download(await (await fetchLines()).blob(), `${run.run_id}.ndjson`);
    } catch (error) {
      showToast(describeError(error).detail, "bad");
    }
    setIsSaving(false);
  };
  return (
    <>
      <Section title="Run" actions={<CopyButton text={json} what="run as JSON" labelled />}>
        <TextRegion label="Run as JSON" text={json} className="max-h-96 rounded-md" />
      </Section>
      <Section
        title="Events"
        lead={`${log.lastSeq} events`}
        actions={
          <Button
            busy={isSaving}
            icon={<Download className="size-4" aria-hidden />}
            onClick={() => void save()}
          >
            Download NDJSON
          </Button>
        }
      >
        <Lines log={log} runId={run.run_id} />
      </Section>
    </>
  );
}

function Lines({ log, runId }: { log: LogView; runId: string }) {
  const [after, setAfter] = useState(0);
  // Only the last page can still grow, so only its query key changes with the log.
  const end = Math.min(log.lastSeq, after + PAGE);
  const { data, error, refetch, isPlaceholderData } = useQuery({
    queryKey: ["raw", runId, after, end],
    queryFn: ({ signal }) => log.source.page(after, PAGE, signal),
    placeholderData: (before) => before,
    gcTime: 30_000,
  });
  if (error) return <ErrorAlert error={error} onRetry={() => void refetch()} />;
  if (!data) return <SkeletonRows label="Loading events" />;
  const last = Math.max(0, Math.floor((log.lastSeq - 1) / PAGE) * PAGE);
  return (
    <>
      <ol aria-busy={isPlaceholderData} className="overflow-hidden rounded-md border border-line bg-code">
        {data.map((event) => (
          <RawLine key={event.seq} event={event} />
        ))}
      </ol>
      <nav aria-label="Event pages" className="flex flex-wrap items-center justify-end gap-2 pt-3">
        <span className="mr-auto text-xs text-muted tabular-nums">
          {data[0]?.seq ?? 0}–{data.at(-1)?.seq ?? 0} of {log.lastSeq}
        </span>
        <Button disabled={after === 0} onClick={() => setAfter(0)}>
          First
        </Button>
        <Button disabled={after === 0} onClick={() => setAfter(Math.max(0, after - PAGE))}>
          Previous
        </Button>
        <Button disabled={after >= last} onClick={() => setAfter(after + PAGE)}>
          Next
        </Button>
        <Button disabled={after >= last} onClick={() => setAfter(last)}>
          Last
        </Button>
      </nav>
    </>
  );
}
