import type { RunItem } from "@outrider/sdk";
import { formatCount } from "../../ui/format/numbers.ts";

type Reason = NonNullable<NonNullable<RunItem["queue"]>["reason"]>;

const reasons: Record<Reason, string> = {
  no_worker: "No worker is connected. Start one with `outrider worker`, or see Workers.",
  no_harness_worker:
    "The connected workers are too old for its harness. Upgrade or restart them, or see Workers.",
  no_matching_worker: "No connected worker has its pool and labels.",
  no_ready_worker: "The workers that it can use accept no runs now. See Workers.",
  workers_busy: "All workers are busy. It starts when a slot is free.",
  installation_limit:
    "The installation's concurrency limit has been reached. It starts when another run ends.",
  environment_limit: "Its environment's concurrency limit has been reached. It starts when another run ends.",
  agent_limit: "Its cloud agent's concurrency limit has been reached. It starts when another run ends.",
  key_limit: "Its key's concurrency limit has been reached. It starts when another run ends.",
};

/** Explains why a run is queued and states its position. */
export function queueMessage({ queue, turns }: Pick<RunItem, "queue" | "turns">): {
  title: string;
  detail: string;
} {
  const subject = turns > 1 ? "Next turn" : "Run";
  if (!queue) return { title: `${subject} queued`, detail: "A worker will start it in a moment." };
  const ahead = queue.position - 1;
  const position =
    ahead === 0
      ? "It is next in line."
      : `${formatCount(ahead)} ${ahead === 1 ? "run is" : "runs are"} ahead of it.`;
  const detail = queue.reason
    ? `${position} ${queue.detail ?? reasons[queue.reason]}`
    : `${position} A worker will start it in a moment.`;
  return { title: `${subject} waiting for a worker`, detail };
}
