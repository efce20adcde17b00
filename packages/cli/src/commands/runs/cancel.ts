import type { CancelRunsFilter, CancelRunsResponse } from "@outrider/sdk";
import { clientCommand, withClient } from "../../client-command.ts";
import { Complaint } from "../../exit.ts";
import { confirm } from "../../input/ask.ts";
import { runIdOf } from "../../input/named.ts";
import { addRunFilter, type RunFilterFlags, runFilterNames, runFilterOf } from "../../input/run-filter.ts";

interface CancelFlags extends RunFilterFlags {
  all?: true;
  dryRun?: true;
  yes?: true;
}

const command = clientCommand("cancel", "End a run at once, or with --all each that the filters find.")
  .argument("[run]", "its id or session link")
  .option("--all", "every run that has not ended and that the filters find; for admins")
  .option("--dry-run", "with --all: only count them")
  .option("-y, --yes", "with --all: do not ask");

export const cancelCommand = addRunFilter(command, "with --all: QUEUED, INPROGRESS, BLOCKED").action(
  withClient<CancelFlags>(async ({ client, out, flags }, given) => {
    const { all, dryRun, yes } = flags;
    if (!all) {
      if (!given) throw new Complaint("Name a run, or say --all and which.");
      const stray = ["dryRun", ...runFilterNames].find((name) => name in flags);
      if (stray) throw new Complaint(`--${dashed(stray)} goes with --all.`);
      const document = await client.runs.cancel(runIdOf(given));
      out.done({ document, id: document.run_id, says: "Cancelled." });
      return;
    }
    if (given) throw new Complaint("Name a run or say --all, not both.");
    // What a state may be, the API says.
    const filter = (await runFilterOf(client, flags)) as CancelRunsFilter;
    const { remaining } = await client.brake.cancelRuns({ filter, dry_run: true });
    if (dryRun) return tell({ cancelled: 0, remaining }, `${remaining} match.`);
    if (remaining > 0) await confirm(`Cancel ${remaining} runs`, yes ? { yes } : {});
    let cancelled = 0;
    for (let left = remaining; left > 0; ) {
      const step = await client.brake.cancelRuns({ filter, dry_run: false });
      cancelled += step.cancelled;
      left = step.remaining;
    }
    tell({ cancelled, remaining: 0 }, `${cancelled} cancelled.`);

    function tell(document: CancelRunsResponse, says: string) {
      out.done({ document, id: String(dryRun ? document.remaining : document.cancelled), says });
    }
  }),
);

const dashed = (name: string) => name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
