import type { Brake, BrakeRequest } from "@outrider/sdk";
import { Command } from "commander";
import { clientCommand, withClient } from "../client-command.ts";
import { given } from "../input/pairs.ts";
import type { Output } from "../terminal/output.ts";

function tell(out: Output, brake: Brake) {
  const { intake, queue, mode, message, changed_at, changed_by, runs } = brake;
  out.item({
    document: brake,
    id: mode === "read_only" ? mode : intake === queue ? intake : `intake ${intake}, queue ${queue}`,
    members: [
      ["intake", intake],
      ["queue", queue],
      ["mode", mode],
      ["message", message],
      ["changed", changed_at && `${changed_at} by ${changed_by?.display_name}`],
      ["runs", `${runs.queued} queued, ${runs.in_progress} in progress, ${runs.blocked} blocked`],
    ],
  });
}

const show = clientCommand("show", "Say what is stopped, and how many runs have not ended.").action(
  withClient(async ({ client, out }) => tell(out, await client.brake.get())),
);

const pause = clientCommand("pause", "Take no new runs. Runs that wait go on, unless the queue is held too.")
  .option("--queue", "give workers nothing either; they finish what they have")
  .option("--message <words>", "what callers are told")
  .action(
    withClient<{ queue?: true; message?: string }>(async ({ client, out, flags }) => {
      const queue = flags.queue && ("paused" as const);
      const request = given({ intake: "paused" as const, queue, message: flags.message });
      tell(out, await client.brake.set(request as BrakeRequest));
    }),
  );

const readOnly = clientCommand("read-only", "Answer reading alone. Workers finish what they have.")
  .option("--message <words>", "what callers are told")
  .action(
    withClient<{ message?: string }>(async ({ client, out, flags }) => {
      const request = given({ mode: "read_only" as const, message: flags.message });
      tell(out, await client.brake.set(request as BrakeRequest));
    }),
  );

const release = clientCommand("release", "Let everything go on.").action(
  withClient(async ({ client, out }) => tell(out, await client.brake.set({}))),
);

export const brakeCommand = new Command("brake")
  .description("Pause new runs, or all writing, on every server.")
  .addCommand(show)
  .addCommand(pause)
  .addCommand(readOnly)
  .addCommand(release);
