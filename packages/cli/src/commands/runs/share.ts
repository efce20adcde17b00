import { Option } from "commander";
import { clientCommand, withClient } from "../../client-command.ts";
import { Complaint, exits } from "../../exit.ts";
import { runIdOf } from "../../input/named.ts";
import { asNumber } from "../../input/pairs.ts";
import { harmlessLine } from "../../terminal/harmless.ts";

interface ShareFlags {
  hours?: number;
  end?: true;
}

export const shareCommand = clientCommand(
  "share",
  "Print a link with which anybody can read this one run. A new one ends the one before.",
)
  .argument("<run>", "its id or session link")
  .option("--hours <number>", "how long it is good; else 168", asNumber("--hours"))
  .addOption(new Option("--end", "end the link that there is").conflicts("hours"))
  .action(
    withClient<ShareFlags>(async ({ client, out, flags }, given) => {
      const runId = runIdOf(given as string);
      if (flags.end) {
        await client.runs.unshare(runId);
        out.done({ document: { run_id: runId, shared: false }, id: runId, says: "The link is ended." });
        return;
      }
      const body = flags.hours === undefined ? {} : { expires_in_hours: flags.hours };
      const document = await client.runs.share(runId, body);
      const { link, expires_at } = document;
      // A retried request finds the link made, but nobody can tell it a second time.
      if (!link)
        throw new Complaint("The link was made, but its answer was lost: share the run again.", {
          exit: exits.failed,
        });
      out.done({ document, id: link, says: link });
      if (!out.isJson) out.say(`Good until ${harmlessLine(expires_at)}: outrider runs share ${runId} --end`);
    }),
  );
