import type { RunEvent } from "@outrider/sdk";
import clsx from "clsx";
import { Download, SquareTerminal, WrapText } from "lucide-react";
import { useMemo } from "react";
import { bytes } from "../../../ui/amount.ts";
import { buttonClass, IconButton } from "../../../ui/button.tsx";
import { CopyButton } from "../../../ui/copy.tsx";
import { terminalLines, withoutColours } from "../../../ui/terminal.ts";
import { Duration, durationWords } from "../../../ui/time.tsx";
import { visible, visibleLine } from "../../../ui/visible.ts";
import { Badge, Card } from "./card.tsx";
import { Output } from "./output.tsx";
import { type BlockFacts, find, type Of, useOpen, useReading } from "./reading.ts";

const PREVIEW = 3;
const LIVE = 12;

/** A command from its beginning to its end: one block, however many events tell of it. */
export function Command({ events, facts }: { events: readonly RunEvent[]; facts: BlockFacts }) {
  const { wraps, setWraps, target } = useReading();
  const started = find(events, "command.started");
  const finished = find(events, "command.finished");
  const [isOpen, toggle] = useOpen(facts, facts.isFailed);
  const text = useMemo(() => outputOf(events), [events]);
  const lines = useMemo(() => terminalLines(text), [text]);
  const command = started?.data.command ?? "";
  const first = events[0] as RunEvent;
  const isLong = command.includes("\n") || command.length > 80;
  return (
    <Card
      seq={first.seq}
      at={first.created_at}
      label={`Command: ${visibleLine(command).slice(0, 120)}`}
      tone={facts.isFailed ? "bad" : "plain"}
      icon={<SquareTerminal className="size-4" aria-hidden />}
      title={<bdi className="block truncate font-mono text-xs">{visibleLine(command.slice(0, 400))}</bdi>}
      open={isOpen}
      onToggle={toggle}
      figures={
        <>
          {started?.data.background && <Badge tone="plain">background</Badge>}
          <Outcome finished={finished} facts={facts} />
          <span className="text-muted tabular-nums max-sm:hidden">
            {finished
              ? durationWords(finished.data.duration_ms)
              : facts.isOpen && <Duration from={first.created_at} />}
          </span>
          {isOpen && lines.length > 0 && (
            <IconButton
              small
              label={wraps ? "Do not wrap lines" : "Wrap lines"}
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
          {visible(command.slice(0, 20_000))}
        </pre>
      )}
      {lines.length > 0 && (
        <div className="relative border-t border-line">
          {isOpen && (
            <div className="absolute top-1 right-1.5 rounded-md bg-code">
              <CopyButton text={lines.map(withoutColours).join("\n")} what="output" />
            </div>
          )}
          <Output
            label="Output"
            lines={lines}
            wraps={wraps}
            mark={isOpen ? markOf(events, target?.seq) : undefined}
            {...(isOpen ? {} : { last: facts.isOpen ? LIVE : PREVIEW })}
          />
        </div>
      )}
      {isOpen && <Foot finished={finished} isSilent={lines.length === 0} />}
    </Card>
  );
}

function Outcome({ finished, facts }: { finished: Of<"command.finished"> | undefined; facts: BlockFacts }) {
  if (!finished)
    return facts.isOpen ? <Badge tone="live">running</Badge> : <Badge tone="plain">interrupted</Badge>;
  const { exit_code, timed_out } = finished.data;
  if (timed_out) return <Badge tone="bad">timed out</Badge>;
  if (exit_code === undefined) return <Badge tone="bad">killed</Badge>;
  return <Badge tone={exit_code === 0 ? "good" : "bad"}>exit {exit_code}</Badge>;
}

function Foot({ finished, isSilent }: { finished: Of<"command.finished"> | undefined; isSilent: boolean }) {
  const { source } = useReading();
  const { omitted_bytes = 0, artifact_id } = finished?.data ?? {};
  const address = artifact_id && source.artifactAddress?.(artifact_id);
  if (!address && omitted_bytes === 0)
    return (
      isSilent && <p className="border-t border-line px-3 py-2 text-xs text-muted">It printed nothing.</p>
    );
  return (
    <div className="flex flex-wrap items-center gap-2 border-t border-line px-3 py-1.5 text-xs text-muted">
      {omitted_bytes > 0 && `${bytes(omitted_bytes)} between its first and last lines are not shown.`}
      {address && (
        <a className={clsx(buttonClass("quiet", { small: true }), "ml-auto")} href={address} download>
          <Download className="size-4" aria-hidden /> Whole output
        </a>
      )}
    </div>
  );
}

function outputOf(events: readonly RunEvent[]): string {
  return events.map((event) => (event.type === "command.output" ? event.data.text : "")).join("");
}

/** The line where the output of this one event begins. */
function markOf(events: readonly RunEvent[], seq: number | undefined): number | undefined {
  const meant = events.findIndex((event) => event.seq === seq && event.type === "command.output");
  if (meant < 0) return undefined;
  return outputOf(events.slice(0, meant)).split("\n").length - 1;
}
