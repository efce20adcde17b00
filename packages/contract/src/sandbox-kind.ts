import { z } from "zod";
import { text } from "./text.ts";

/** The kinds of sandboxes that runs and environments can ask for. */
export const sandboxKinds = ["local", "docker", "kubernetes"] as const;

export const SandboxKind = z.enum(sandboxKinds).meta({
  id: "SandboxKind",
  description:
    "Where sandboxes run. `local`: as processes of the worker's machine. `docker`: as containers of a Docker or Podman engine. `kubernetes`: as pods of a Kubernetes cluster.",
});
export type SandboxKind = z.infer<typeof SandboxKind>;

/** The kind of workers that announce none, because they are older than the choice. */
export const DEFAULT_SANDBOX = "local";

/** The engine of a worker's sandboxes. */
export const SandboxEngine = z
  .object({
    engine: text({ max: 64 }).meta({ description: "`docker`, `podman` or `kubernetes`." }),
    engine_version: text({ max: 64 }),
    runtime: text({ max: 128 }).optional().meta({
      description:
        "What the engine starts containers with, such as `runc` or `runsc`. For pods, their RuntimeClass. Absent if it is not known.",
    }),
  })
  .meta({ id: "SandboxEngine", description: "The engine or cluster that runs sandboxes as containers." });
export type SandboxEngine = z.infer<typeof SandboxEngine>;

/** Whether a worker enforces a control, such as `memory` or `network`. */
export const SandboxControl = z
  .object({
    enforced: z.boolean(),
    by: text({ max: 1_000 }).optional(),
    reason: text({ max: 1_000 }).optional().meta({ description: "Why it is not enforced." }),
  })
  .meta({ id: "SandboxControl", description: "Whether and how a worker enforces a control." });
export type SandboxControl = z.infer<typeof SandboxControl>;
