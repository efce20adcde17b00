import type { RunEvent } from "@outrider/sdk";
import { Box, CircleAlert, FileBox, LoaderCircle } from "lucide-react";
import { bytes } from "../../../ui/amount.ts";
import { durationWords } from "../../../ui/time.tsx";
import { visible, visibleLine } from "../../../ui/visible.ts";
import { Line } from "./line.tsx";
import { type BlockFacts, type Of, useReading } from "./reading.ts";

const icon = "size-4";

/** One step of making the environment ready, from its beginning to its end. */
export function Step({ events, facts }: { events: readonly RunEvent[]; facts: BlockFacts }) {
  const steps = events.filter((event): event is Of<"environment.step"> => event.type === "environment.step");
  const [first] = steps;
  const last = steps.at(-1);
  if (!first || !last) return null;
  const { name, state, detail } = last.data;
  const took = Date.parse(last.created_at) - Date.parse(first.created_at);
  const Sign = facts.isOpen ? LoaderCircle : Box;
  return (
    <Line
      event={first}
      label={`Environment: ${visibleLine(name)}`}
      tone={state === "failed" ? "bad" : "muted"}
      icon={<Sign className={facts.isOpen ? `${icon} animate-spin` : icon} aria-hidden />}
    >
      {visibleLine(name)}
      {state === "failed" && <span className="font-medium"> failed</span>}
      {last !== first && <span className="text-xs tabular-nums"> · {durationWords(took)}</span>}
      {detail && (
        <p className="font-mono text-xs whitespace-pre-wrap [unicode-bidi:plaintext]">
          {visible(detail.slice(0, 4_000))}
        </p>
      )}
    </Line>
  );
}

export function Notice({ event }: { event: Of<"notice"> }) {
  const { message, code } = event.data;
  return (
    <Line event={event} label="Notice" tone="warn" icon={<CircleAlert className={icon} aria-hidden />}>
      <span className="whitespace-pre-wrap [unicode-bidi:plaintext]">
        {visible((message ?? code ?? "A notice").slice(0, 4_000))}
      </span>
    </Line>
  );
}

export function Artifact({ event }: { event: Of<"artifact.added"> }) {
  const { source } = useReading();
  const { artifact_id, name, mime_type, size_bytes } = event.data;
  const shown = visibleLine(name);
  return (
    <Line event={event} label="Artifact" icon={<FileBox className={icon} aria-hidden />}>
      {source.artifactAddress ? (
        <a
          className="text-accent-ink underline underline-offset-2"
          href={source.artifactAddress(artifact_id)}
          download
        >
          <bdi>{shown}</bdi>
        </a>
      ) : (
        <bdi>{shown}</bdi>
      )}
      <span className="text-xs">
        {" "}
        · {bytes(size_bytes)} · {visibleLine(mime_type)}
      </span>
    </Line>
  );
}
