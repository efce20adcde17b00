import { formatDuration, Time } from "../../../../ui/format/time.tsx";
import { useTranscript } from "../transcript-context.ts";

/** Shows when an event occurred, and how long after the start of its turn. */
export function Stamp({ at }: { at: string }) {
  const { turnStarts } = useTranscript();
  const time = Date.parse(at);
  const start = turnStarts.findLast((one) => one <= time);
  return (
    <span className="flex shrink-0 items-baseline gap-2 whitespace-nowrap text-xs text-muted max-sm:hidden">
      {start !== undefined && (
        <span className="tabular-nums" title={`${formatDuration(time - start)} after the turn started`}>
          {formatOffset(time - start)}
        </span>
      )}
      <Time at={at} />
    </span>
  );
}

/** Formats a time since the start of a turn: +0:05, +12:30 or +1:02:03. */
export function formatOffset(ms: number): string {
  const seconds = Math.floor(ms / 1_000);
  const pad = (amount: number) => String(amount).padStart(2, "0");
  const hours = Math.floor(seconds / 3_600);
  const minutes = Math.floor(seconds / 60) % 60;
  return `+${hours > 0 ? `${hours}:${pad(minutes)}` : minutes}:${pad(seconds % 60)}`;
}
