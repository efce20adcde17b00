import type { RunEvent } from "@outrider/sdk";
import { Box, CircleAlert, FileBox, LoaderCircle } from "lucide-react";
import { formatBytes } from "../../../../ui/format/numbers.ts";
import { formatDuration } from "../../../../ui/format/time.tsx";
import { sanitize, sanitizeLine } from "../../../../ui/text/sanitize.ts";
import { type BlockInfo, type EventOf, useTranscript } from "../transcript-context.ts";
import { Line } from "./line.tsx";
import { Output } from "./output.tsx";

const icon = "size-4";

/** Shows a step that prepares the environment. */
export function Step({ events, info }: { events: readonly RunEvent[]; info: BlockInfo }) {
  const steps = events.filter(
    (event): event is EventOf<"environment.step"> => event.type === "environment.step",
  );
  const [first] = steps;
  const last = steps.at(-1);
  if (!first || !last) return null;
  const { name, state, detail, output } = last.data;
  const took = Date.parse(last.created_at) - Date.parse(first.created_at);
  const Icon = info.isOpen ? LoaderCircle : Box;
  return (
    <Line
      event={first}
      label={`Environment: ${sanitizeLine(name)}`}
      tone={state === "failed" ? "bad" : "muted"}
      icon={<Icon className={info.isOpen ? `${icon} animate-spin` : icon} aria-hidden />}
    >
      {sanitizeLine(name)}
      {state === "failed" && <span className="font-medium"> failed</span>}
      {last !== first && <span className="text-xs tabular-nums"> · {formatDuration(took)}</span>}
      {detail && (
        <p className="font-mono text-xs whitespace-pre-wrap [unicode-bidi:plaintext]">
          {sanitize(detail.slice(0, 4_000))}
        </p>
      )}
      {output && (
        <Output label={`Output of ${sanitizeLine(name)}`} lines={output.trimEnd().split("\n")} wraps />
      )}
    </Line>
  );
}

export function Notice({ event }: { event: EventOf<"notice"> }) {
  const { message, code } = event.data;
  return (
    <Line event={event} label="Notice" tone="warn" icon={<CircleAlert className={icon} aria-hidden />}>
      <span className="whitespace-pre-wrap [unicode-bidi:plaintext]">
        {sanitize((message ?? code ?? "Notice").slice(0, 4_000))}
      </span>
    </Line>
  );
}

export function Artifact({ event }: { event: EventOf<"artifact.added"> }) {
  const { source } = useTranscript();
  const { artifact_id, name, mime_type, size_bytes } = event.data;
  const shown = sanitizeLine(name);
  return (
    <Line event={event} label="Artifact" icon={<FileBox className={icon} aria-hidden />}>
      {source.artifactUrl ? (
        <a
          className="text-accent-ink underline underline-offset-2"
          href={source.artifactUrl(artifact_id)}
          download
        >
          <bdi>{shown}</bdi>
        </a>
      ) : (
        <bdi>{shown}</bdi>
      )}
      <span className="text-xs">
        {" "}
        · {formatBytes(size_bytes)} · {sanitizeLine(mime_type)}
      </span>
    </Line>
  );
}
