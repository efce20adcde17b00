import { z } from "zod";
import { pattern } from "./text.ts";

/** The pool of workers that name none, and of runs that select none. */
export const DEFAULT_POOL = "default";

const MAX_LABELS = 32;

const shape = "([A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?)";
const rule = "1 to 63 letters, digits, `.`, `_` or `-`, starting and ending with a letter or digit";

export const PoolName = pattern(new RegExp(`^${shape}$`), `must be ${rule}`);

const LabelName = pattern(new RegExp(`^${shape}$`), `must be a label name: ${rule}`);
const LabelValue = pattern(new RegExp(`^${shape}$`), `must be a label value: ${rule}`);

export const WorkerLabels = z
  .record(LabelName, LabelValue)
  .superRefine((labels, context) => {
    const found = Object.keys(labels).length;
    if (found > MAX_LABELS) context.addIssue(`must have at most ${MAX_LABELS} labels, but has ${found}`);
  })
  .meta({ maxProperties: MAX_LABELS, examples: [{ region: "eu", gpu: "true" }] });
export type WorkerLabels = z.infer<typeof WorkerLabels>;

export const PoolDemand = z
  .object({
    pool: z.string(),
    queued: z.int().meta({
      description: "Runs that wait for a worker of the pool, including those whose worker was lost.",
    }),
    running: z.int().meta({ description: "Runs that workers execute." }),
    workers: z.int().meta({ description: "Connected workers that accept runs." }),
    slots: z.int().meta({ description: "Runs that these workers can execute at the same time." }),
    free: z.int().meta({ description: "Slots that no run uses." }),
    oldest_wait_seconds: z.number().meta({
      description: "How long the run that waits longest has waited. 0 if none waits.",
    }),
  })
  .meta({
    id: "PoolDemand",
    description:
      "The runs and workers of a pool. An autoscaler needs `queued` + `running` slots to execute all runs at once.",
  });
export type PoolDemand = z.infer<typeof PoolDemand>;

export const WorkerDemandResponse = z
  .object({ pools: z.array(PoolDemand) })
  .meta({ id: "WorkerDemandResponse" });
