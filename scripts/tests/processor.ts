import { readFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { waitOptions } from "./wait-options.ts";

/**
 * The processor time that a virtual machine gets. A host with too many machines can take away nearly all of it for
 * minutes ("steal" in top and vmstat). Programs then run a hundred times slower, leases and timeouts expire, and no test
 * that depends on them can succeed.
 */

/** The tests wait if the host takes away more than this share of the time that the machine could use. */
const MAX_STOLEN_SHARE = 0.7;
/** A share of less time than this is not meaningful. */
const MIN_DEMAND_TICKS = 20;
/** The tests do not wait any longer after this time, so that they end even if the host never recovers. */
const MAX_TOTAL_MS = 60 * 60_000;
const SAMPLE_MS = 1_000;
/** A machine that uses no processor time cannot lose any, so the wait uses some. */
const USE_MS = 250;

export interface ProcessorTime {
  /** Clock ticks of all processors since the machine started. */
  usedTicks: number;
  stolenTicks: number;
}

/** Parses /proc/stat. */
export function parseProcessorTime(stat: string): ProcessorTime {
  const [user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0, stolenTicks = 0] = stat
    .slice(0, stat.indexOf("\n"))
    .split(/\s+/)
    .slice(1)
    .map(Number);
  return { usedTicks: user + nice + system + irq + softirq, stolenTicks };
}

/** Returns whether the host has taken away most of the time that the machine could have used. */
export function isStarved(before: ProcessorTime, after: ProcessorTime): boolean {
  const stolen = after.stolenTicks - before.stolenTicks;
  const demand = stolen + after.usedTicks - before.usedTicks;
  return demand >= MIN_DEMAND_TICKS && stolen / demand > MAX_STOLEN_SHARE;
}

let last = readProcessorTime();

/** Waits while the machine gets hardly any processor time, but not forever. */
export async function waitForProcessor(): Promise<void> {
  let now = readProcessorTime();
  if (last && now && isStarved(last, now)) {
    console.log("Waiting, because the host takes away most of the processor time.");
    const startedAt = Number(process.env.OUTRIDER_TESTS_STARTED_AT);
    const deadline = Math.min(Date.now() + waitOptions.timeout, startedAt + MAX_TOTAL_MS);
    while (last && now && isStarved(last, now) && Date.now() < deadline) {
      last = now;
      useProcessor();
      await pause(SAMPLE_MS - USE_MS);
      now = readProcessorTime();
    }
  }
  last = now;
}

function useProcessor(): void {
  for (const end = performance.now() + USE_MS; performance.now() < end; );
}

/** Returns undefined on other systems than Linux. */
function readProcessorTime(): ProcessorTime | undefined {
  try {
    return parseProcessorTime(readFileSync("/proc/stat", "utf8"));
  } catch {
    return undefined;
  }
}
