import { z } from "zod";
import { NewShellEvent, ShellInputPiece, TerminalSize } from "../shell.ts";
import { Uuid } from "../text.ts";
import { BatchNumber } from "./batch.ts";
import { ReadyBuild } from "./build.ts";
import { AssignedEnvironment } from "./environment.ts";

/** Assigns a shell in the sandbox of an environment. */
export const ShellAssignment = z.object({
  shell_id: Uuid,
  token: Uuid,
  lease_ms: z.int(),
  environment: AssignedEnvironment,
  build: ReadyBuild.optional().meta({
    description: "The latest build. If it is absent, the worker runs the steps of the build.",
  }),
  terminal: TerminalSize.optional(),
});
export type ShellAssignment = z.infer<typeof ShellAssignment>;

/** Reports what happens in a shell and renews its lease. Sent at least six times per lease. */
export const ShellReportRequest = z.strictObject({
  token: Uuid,
  batch: BatchNumber,
  events: z.array(NewShellEvent).max(1_000),
});
export type ShellReportRequest = z.infer<typeof ShellReportRequest>;

/** Waits for input of the shell, for a confirmation of events after `received`, or for the shell's end. */
export const ShellInputRequest = z.strictObject({
  token: Uuid,
  after: z.int().min(0).optional().meta({
    description:
      "The last piece of input that the worker has. Absent if the worker cannot accept more input.",
  }),
  received: z.int().min(0),
  wait_ms: z.int().min(0).max(60_000),
});
export type ShellInputRequest = z.infer<typeof ShellInputRequest>;

export const ShellInputResponse = z.object({
  pieces: z.array(ShellInputPiece),
  received: z.int().meta({ description: "The last event that the client has received." }),
});
export type ShellInputResponse = z.infer<typeof ShellInputResponse>;

export const ShellFinishRequest = z.strictObject({
  token: Uuid,
  batch: BatchNumber,
  events: z.array(NewShellEvent).max(1_000),
  exit_code: z.int().optional(),
  message: z.string().optional(),
});
export type ShellFinishRequest = z.infer<typeof ShellFinishRequest>;
