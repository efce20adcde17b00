import type { Page } from "playwright-core";
import { expect } from "vitest";

/** A longer task delays what the user sees. */
const MAX_TASK_MS = 100;
/** How long the reference work takes on an idle machine. */
const REFERENCE_MS = 20;
const referenceWork = `(() => {
  let longest = 0;
  for (let round = 0; round < 30; round++) {
    const start = performance.now();
    let sum = 0;
    for (let i = 0; i < 1e7; i++) sum += i % 7;
    longest = Math.max(longest, performance.now() - start + Math.min(sum, 0));
  }
  return longest;
})()`;

interface TraceEvent {
  name: string;
  ph: string;
  pid: number;
  tid: number;
  /** CPU time of the thread in microseconds. It includes what other virtual machines take from the processor. */
  tdur?: number;
  args: { name?: string };
}

/**
 * Fails if a task of the page's main thread takes more than 100 ms during an action. While other virtual machines take the
 * processor away, the limit is as many times higher as other work takes longer in this page.
 */
export async function expectShortTasks(page: Page, action: () => Promise<unknown>): Promise<void> {
  const before = await page.evaluate<number>(referenceWork);
  const longest = await longestTask(page, action);
  const after = await page.evaluate<number>(referenceWork);
  const slowness = Math.max(1, before / REFERENCE_MS, after / REFERENCE_MS);
  console.info(
    `longest task: ${longest.toFixed(1)} ms, on a machine ${slowness.toFixed(1)} times slower than an idle one`,
  );
  expect(longest).toBeGreaterThan(0);
  expect(longest).toBeLessThan(MAX_TASK_MS * slowness);
}

/** Returns the CPU time of the page's longest main-thread task during an action, in milliseconds. */
async function longestTask(page: Page, action: () => Promise<unknown>): Promise<number> {
  const tools = await page.context().newCDPSession(page);
  const events: TraceEvent[] = [];
  tools.on("Tracing.dataCollected", ({ value }) => events.push(...(value as unknown as TraceEvent[])));
  const complete = new Promise((resolve) => tools.once("Tracing.tracingComplete", resolve));
  await tools.send("Tracing.start", { traceConfig: { includedCategories: ["toplevel"] } });
  await action();
  await tools.send("Tracing.end");
  await complete;
  await tools.detach();
  const mainThreads = new Set(
    events
      .filter(({ name, args }) => name === "thread_name" && args.name === "CrRendererMain")
      .map(({ pid, tid }) => `${pid}/${tid}`),
  );
  const tasks = events.filter(
    ({ name, tdur, pid, tid }) =>
      /RunTask/.test(name) && tdur !== undefined && mainThreads.has(`${pid}/${tid}`),
  );
  if (tasks.length === 0) throw new Error("The trace has no tasks of the main thread.");
  return Math.max(...tasks.map(({ tdur = 0 }) => tdur)) / 1_000;
}
