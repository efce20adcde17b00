import type { RunEvent } from "@outrider/sdk";
import { useEffect, useState } from "react";
import type { LogSource } from "../log/source.ts";
import type { LogView } from "../log/view.ts";

export interface TimedCommand {
  id: string;
  command: string;
  from: number;
  to?: number;
  exit?: number;
  failed: boolean;
  seq: number;
}

const PAGE = 1_000;
/** More bars than this are not a picture any more. */
export const MOST_COMMANDS = 500;

interface Scan {
  after: number;
  /** The first so many; `total` counts all. */
  commands: TimedCommand[];
  total: number;
}

/** Kept with the source, so that coming back to the tab goes on where it was left. */
const scans = new WeakMap<LogSource, Scan>();

/** The commands with their times, read out of the log, which keeps no words of its own. */
export function useCommands({ source, lastSeq }: LogView): Scan | undefined {
  const [scan, setScan] = useState(() => scans.get(source));
  useEffect(() => {
    const leave = new AbortController();
    read(source, { until: lastSeq, signal: leave.signal }).then(
      (found) => {
        if (!leave.signal.aborted) setScan(found);
      },
      // The next event, or the next look at the tab, tries again.
      () => {},
    );
    return () => leave.abort();
  }, [source, lastSeq]);
  return scan;
}

async function read(
  source: LogSource,
  { until, signal }: { until: number; signal: AbortSignal },
): Promise<Scan> {
  let scan = scans.get(source) ?? { after: 0, commands: [], total: 0 };
  while (scan.after < until && !signal.aborted) {
    const events = await source.page(scan.after, PAGE, signal);
    if (events.length === 0) break;
    scan = added(scan, events);
    scans.set(source, scan);
  }
  return scan;
}

function added({ commands, total }: Scan, events: RunEvent[]): Scan {
  const list = [...commands];
  let sum = total;
  for (const event of events) {
    const at = Date.parse(event.created_at);
    if (event.type === "command.started") {
      const { command_id: id, command } = event.data;
      sum += 1;
      if (list.length < MOST_COMMANDS)
        list.push({ id, command: command.slice(0, 500), from: at, failed: false, seq: event.seq });
    }
    if (event.type !== "command.finished") continue;
    const { command_id: id, exit_code, timed_out, duration_ms } = event.data;
    const begun = list.findLastIndex((one) => one.id === id && one.to === undefined);
    const command = list[begun];
    if (!command) continue;
    list[begun] = {
      ...command,
      // Its own clock is exact; events are written a little later.
      from: Math.max(command.from, at - duration_ms),
      to: at,
      ...(exit_code !== undefined && { exit: exit_code }),
      failed: exit_code !== 0 || timed_out === true,
    };
  }
  return { after: events.at(-1)?.seq ?? 0, commands: list, total: sum };
}
