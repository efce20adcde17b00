import { answerParent } from "./child.ts";
import type { Times } from "./jobs.ts";
import { post } from "./outrider.ts";

/** A client that creates runs, some at once. */
export interface Creator {
  origin: string;
  key: string;
  prompt: string;
  count: number;
  callers: number;
}

answerParent<Creator>(async ({ prompt, count, callers, ...access }) => {
  const times: Times = new Map();
  let begun = 0;
  const caller = async () => {
    while (begun++ < count) {
      const { run_id } = await post<{ run_id: string }>(access, "/agent/run", { prompt });
      times.set(run_id, process.hrtime.bigint());
    }
  };
  await Promise.all(Array.from({ length: callers }, caller));
  return times;
});
