import type { Maintenance, MaintenanceRequest } from "@outrider/sdk";
import { Command } from "commander";
import { clientCommand, withClient } from "../client-command.ts";
import { omitUndefined } from "../input/pairs.ts";
import type { Output } from "../terminal/output.ts";

function printMaintenance(out: Output, maintenance: Maintenance) {
  const { admission, queue, mode, message, changed_at, changed_by, runs } = maintenance;
  out.item({
    document: maintenance,
    id:
      mode === "read_only"
        ? mode
        : admission === queue
          ? admission
          : `admission ${admission}, queue ${queue}`,
    fields: [
      ["admission", admission],
      ["queue", queue],
      ["mode", mode],
      ["message", message],
      ["changed", changed_at && `${changed_at} by ${changed_by?.display_name}`],
      ["runs", `${runs.queued} queued, ${runs.in_progress} in progress, ${runs.blocked} blocked`],
    ],
  });
}

const status = clientCommand(
  "status",
  "Show the maintenance settings and the number of unfinished runs.",
).action(withClient(async ({ client, out }) => printMaintenance(out, await client.maintenance.get())));

const pause = clientCommand("pause", "Reject new runs. Queued runs still start, unless --queue is set.")
  .option("--queue", "also pause the queue: workers get no new work and finish their current work")
  .option("--message <text>", "message for callers")
  .action(
    withClient<{ queue?: true; message?: string }>(async ({ client, out, flags }) => {
      const queue = flags.queue && ("paused" as const);
      const request = omitUndefined({ admission: "paused" as const, queue, message: flags.message });
      printMaintenance(out, await client.maintenance.set(request as MaintenanceRequest));
    }),
  );

const readOnly = clientCommand("read-only", "Reject all writes. Workers finish their current work.")
  .option("--message <text>", "message for callers")
  .action(
    withClient<{ message?: string }>(async ({ client, out, flags }) => {
      const request = omitUndefined({ mode: "read_only" as const, message: flags.message });
      printMaintenance(out, await client.maintenance.set(request as MaintenanceRequest));
    }),
  );

const end = clientCommand("end", "End maintenance and return to normal operation.").action(
  withClient(async ({ client, out }) => printMaintenance(out, await client.maintenance.set({}))),
);

export const maintenanceCommand = new Command("maintenance")
  .description("Pause new runs or all writes. Applies to all servers of the installation.")
  .addCommand(status)
  .addCommand(pause)
  .addCommand(readOnly)
  .addCommand(end);
