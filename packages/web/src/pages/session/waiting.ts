import type { RunItem } from "@outrider/sdk";
import { count } from "../../ui/amount.ts";

type Reason = NonNullable<NonNullable<RunItem["queue"]>["reason"]>;

const reasons: Record<Reason, string> = {
  no_worker: "No worker is connected. Start one with `outrider worker`, or see Workers.",
  workers_busy: "All workers are busy. It starts when one has room.",
  installation_limit: "The installation runs as many runs at once as it may. It starts when one ends.",
  environment_limit: "Its environment runs as many runs at once as it may. It starts when one ends.",
  agent_limit: "Its cloud agent runs as many runs at once as it may. It starts when one ends.",
  key_limit: "Its key runs as many runs at once as it may. It starts when one ends.",
};

/** What a queued run waits for, and how long the queue before it is. */
export function waitingWords({ queue, turns }: Pick<RunItem, "queue" | "turns">): {
  title: string;
  detail: string;
} {
  const what = turns > 1 ? "The next turn" : "The run";
  if (!queue) return { title: `${what} waits`, detail: "A worker takes it in a moment." };
  const place =
    queue.position === 1 ? "It is next in line." : `${count(queue.position - 1)} runs are before it.`;
  const detail = queue.reason
    ? `${place} ${reasons[queue.reason]}`
    : `${place} A worker takes it in a moment.`;
  return { title: `${what} waits for a worker`, detail };
}
