import { limits } from "@outrider/contract/limits";
import type { RunEvent } from "@outrider/sdk";
import { useEffect, useState } from "react";
import type { LogSource } from "../log/log-source.ts";
import type { LogView } from "../log/log-view.ts";

export interface TimedCommand {
  id: string;
  command: string;
  from: number;
  to?: number;
  exit?: number;
  failed: boolean;
  seq: number;
}

/** Protects the browser's memory. A run with this many commands has far more than 100,000 events. */
const MAX_COMMANDS = 50_000;
/** A bar shows only the beginning of its command. */
const MAX_CHARACTERS = 200;

interface Scan {
  after: number;
  /** The first commands, up to the maximum. `total` is the number of all commands. */
  commands: TimedCommand[];
  total: number;
}

/** Scans are cached per source so that reopening the tab continues where it stopped. */
const scans = new WeakMap<LogSource, Scan>();

/** Reads the commands and their times from the log. */
export function useCommands({ source, lastSeq }: LogView): Scan | undefined {
  const [scan, setScan] = useState(() => scans.get(source));
  useEffect(() => {
    const abort = new AbortController();
    read(source, { until: lastSeq, signal: abort.signal }).then(
      (found) => {
        if (!abort.signal.aborted) setScan(found);
      },
      // The next event retries the scan, and so does reopening the tab.
      () => {},
    );
    return () => abort.abort();
  }, [source, lastSeq]);
  return scan;
}

async function read(
  source: LogSource,
  { until, signal }: { until: number; signal: AbortSignal },
): Promise<Scan> {
  let scan = scans.get(source) ?? { after: 0, commands: [], total: 0 };
  while (scan.after < until && !signal.aborted) {
    const events = await source.page(scan.after, limits.eventPageSize.max, signal);
    if (events.length === 0) break;
    scan = withEvents(scan, events);
    scans.set(source, scan);
  }
  return scan;
}

function withEvents({ commands, total }: Scan, events: RunEvent[]): Scan {
  const list = [...commands];
  let sum = total;
  for (const event of events) {
    const at = Date.parse(event.created_at);
    if (event.type === "command.started") {
      const { command_id: id, command } = event.data;
      sum += 1;
      if (list.length < MAX_COMMANDS)
        list.push({ id, command: command.slice(0, MAX_CHARACTERS), from: at, failed: false, seq: event.seq });
    }
    if (event.type !== "command.finished") continue;
    const { command_id: id, exit_code, timed_out, duration_ms } = event.data;
    const startIndex = list.findLastIndex((entry) => entry.id === id && entry.to === undefined);
    const command = list[startIndex];
    if (!command) continue;
    list[startIndex] = {
      ...command,
      // The reported duration is exact, but events are written slightly later.
      from: Math.max(command.from, at - duration_ms),
      to: at,
      ...(exit_code !== undefined && { exit: exit_code }),
      failed: exit_code !== 0 || timed_out === true,
    };
  }
  return { after: events.at(-1)?.seq ?? 0, commands: list, total: sum };
}
