import type { RunEvent } from "@outrider/sdk";
import clsx from "clsx";
import { Download, SquareTerminal, WrapText } from "lucide-react";
import { useMemo } from "react";
import { buttonClass, IconButton } from "../../../../ui/button.tsx";
import { formatBytes } from "../../../../ui/format/numbers.ts";
import { Duration, formatDuration } from "../../../../ui/format/time.tsx";
import { CopyButton } from "../../../../ui/text/copy.tsx";
import { sanitize, sanitizeLine } from "../../../../ui/text/sanitize.ts";
import { stripColors, terminalLines } from "../../../../ui/text/terminal.ts";
import { countMatches } from "../search.ts";
import {
  type BlockInfo,
  type EventOf,
  find,
  type Target,
  useOpen,
  useTranscript,
} from "../transcript-context.ts";
import { Badge, Card } from "./card.tsx";
import { type Mark, Output } from "./output.tsx";

const PREVIEW = 3;
const LIVE = 12;

/** Shows a command and its output. */
export function Command({ events, info }: { events: readonly RunEvent[]; info: BlockInfo }) {
  const { wraps, setWraps, target } = useTranscript();
  const started = find(events, "command.started");
  const finished = find(events, "command.finished");
  const [isOpen, toggle] = useOpen(info, info.isFailed);
  const text = useMemo(() => outputOf(events), [events]);
  const lines = useMemo(() => terminalLines(text), [text]);
  const command = started?.data.command ?? "";
  const first = events[0] as RunEvent;
  const isLong = command.includes("\n") || command.length > 80;
  return (
    <Card
      seq={first.seq}
      at={first.created_at}
      label={`Command: ${sanitizeLine(command).slice(0, 120)}`}
      tone={info.isFailed ? "bad" : "plain"}
      icon={<SquareTerminal className="size-4" aria-hidden />}
      title={<bdi className="block truncate font-mono text-xs">{sanitizeLine(command.slice(0, 400))}</bdi>}
      open={isOpen}
      onToggle={toggle}
      meta={
        <>
          {started?.data.background && <Badge tone="plain">background</Badge>}
          <Outcome finished={finished} info={info} />
          <span className="text-muted tabular-nums max-sm:hidden">
            {finished
              ? formatDuration(finished.data.duration_ms)
              : info.isOpen && <Duration from={first.created_at} />}
          </span>
          {isOpen && lines.length > 0 && (
            <IconButton
              small
              label={wraps ? "Don't wrap lines" : "Wrap lines"}
              aria-pressed={wraps}
              icon={<WrapText className="size-4" aria-hidden />}
              onClick={() => setWraps(!wraps)}
            />
          )}
          <CopyButton text={command} what="command" />
        </>
      }
    >
      {isOpen && isLong && (
        <pre className="max-h-60 overflow-y-auto border-t border-line px-3 py-2 font-mono text-xs leading-5 whitespace-pre-wrap [overflow-wrap:anywhere] [unicode-bidi:plaintext]">
          {sanitize(command.slice(0, 20_000))}
        </pre>
      )}
      {lines.length > 0 && (
        <div className="relative border-t border-line">
          {isOpen && (
            <div className="absolute top-1 right-1.5 z-1 rounded-md bg-code">
              <CopyButton text={lines.map(stripColors).join("\n")} what="output" />
            </div>
          )}
          <Output
            label="Output"
            lines={lines}
            wraps={wraps}
            mark={isOpen ? markOf(events, target) : undefined}
            {...(isOpen ? {} : { last: info.isOpen ? LIVE : PREVIEW })}
          />
        </div>
      )}
      {isOpen && <OutputFooter finished={finished} isSilent={lines.length === 0} />}
    </Card>
  );
}

function Outcome({ finished, info }: { finished: EventOf<"command.finished"> | undefined; info: BlockInfo }) {
  if (!finished)
    return info.isOpen ? <Badge tone="live">running</Badge> : <Badge tone="plain">interrupted</Badge>;
  const { exit_code, timed_out } = finished.data;
  if (timed_out) return <Badge tone="bad">timed out</Badge>;
  if (exit_code === undefined) return <Badge tone="bad">killed</Badge>;
  return <Badge tone={exit_code === 0 ? "good" : "bad"}>exit {exit_code}</Badge>;
}

function OutputFooter({
  finished,
  isSilent,
}: {
  finished: EventOf<"command.finished"> | undefined;
  isSilent: boolean;
}) {
  const { source } = useTranscript();
  const { omitted_bytes = 0, artifact_id } = finished?.data ?? {};
  const address = artifact_id && source.artifactUrl?.(artifact_id);
  if (!address && omitted_bytes === 0)
    return isSilent && <p className="border-t border-line px-3 py-2 text-xs text-muted">No output</p>;
  return (
    <div className="flex flex-wrap items-center gap-2 border-t border-line px-3 py-1.5 text-xs text-muted">
      {omitted_bytes > 0 && `${formatBytes(omitted_bytes)} omitted from the middle of the output.`}
      {address && (
        <a className={clsx(buttonClass("quiet", { small: true }), "ml-auto")} href={address} download>
          <Download className="size-4" aria-hidden /> Full output
        </a>
      )}
    </div>
  );
}

function outputOf(events: readonly RunEvent[]): string {
  return events.map((event) => (event.type === "command.output" ? event.data.text : "")).join("");
}

/** Returns the line that the target points to: a match, or the start of an event's output. */
function markOf(events: readonly RunEvent[], target: Target | undefined): Mark | undefined {
  const index = events.findIndex((event) => event.seq === target?.seq && event.type === "command.output");
  if (index < 0) return undefined;
  const start = outputOf(events.slice(0, index)).split("\n").length - 1;
  if (!target?.match) return { line: start, nth: 0 };
  let { needle, nth } = target.match;
  for (const [line, text] of outputOf(events.slice(index, index + 1))
    .split("\n")
    .entries()) {
    const count = countMatches(text, needle);
    if (nth < count) return { line: start + line, nth };
    nth -= count;
  }
  return { line: start, nth: 0 };
}
