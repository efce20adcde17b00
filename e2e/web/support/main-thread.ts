import type { Page } from "playwright-core";

interface TraceEvent {
  name: string;
  ph: string;
  pid: number;
  tid: number;
  /** CPU time of the thread in microseconds, which does not depend on what else the machine does. */
  tdur?: number;
  args: { name?: string };
}

/** Returns the CPU time of the page's longest main-thread task during an action, in milliseconds. */
export async function longestTask(page: Page, action: () => Promise<unknown>): Promise<number> {
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
