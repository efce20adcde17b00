import type { CancelRunsFilter, CancelRunsResponse } from "@outrider/sdk";
import { clientCommand, withClient } from "../../client-command.ts";
import { UsageError } from "../../exit-codes.ts";
import { confirm } from "../../input/prompt.ts";
import { addRunFilter, buildRunFilter, type RunFilterFlags, runFilterNames } from "../../input/run-filter.ts";
import { findRunId, RUN_ARGUMENT } from "../../input/run-id.ts";

interface CancelFlags extends RunFilterFlags {
  all?: true;
  dryRun?: true;
  yes?: true;
}

const command = clientCommand("cancel", "Cancel a run, or all runs that match filters with --all.")
  .argument("[run]", RUN_ARGUMENT)
  .option("--all", "cancel all unfinished runs that match the filters; admins only")
  .option("--dry-run", "with --all: only count the runs")
  .option("-y, --yes", "with --all: skip the confirmation");

export const cancelCommand = addRunFilter(command, "QUEUED, INPROGRESS or BLOCKED, with --all").action(
  withClient<CancelFlags>(async ({ client, out, flags }, given) => {
    const { all, dryRun, yes } = flags;
    if (!all) {
      if (!given) throw new UsageError("Pass a run ID, or --all with filters.");
      const unusedFlag = ["dryRun", ...runFilterNames].find((name) => name in flags);
      if (unusedFlag) throw new UsageError(`--${toKebabCase(unusedFlag)} requires --all.`);
      const document = await client.runs.cancel(await findRunId(client, given));
      out.done({ document, id: document.run_id, message: "Cancelled." });
      return;
    }
    if (given) throw new UsageError("Pass either a run ID or --all, not both.");
    // The cast is safe, because the API validates the states.
    const filter = (await buildRunFilter(client, flags)) as CancelRunsFilter;
    const { remaining } = await client.maintenance.cancelRuns({ filter, dry_run: true });
    if (dryRun) return report({ cancelled: 0, remaining }, `${remaining} runs match.`);
    if (remaining > 0) await confirm(`Cancel ${remaining} runs`, yes ? { yes } : {});
    let cancelled = 0;
    for (let left = remaining; left > 0; ) {
      const step = await client.maintenance.cancelRuns({ filter, dry_run: false });
      cancelled += step.cancelled;
      left = step.remaining;
    }
    report({ cancelled, remaining: 0 }, `Cancelled ${cancelled} runs.`);

    function report(document: CancelRunsResponse, message: string) {
      out.done({ document, id: String(dryRun ? document.remaining : document.cancelled), message });
    }
  }),
);

const toKebabCase = (name: string) => name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
