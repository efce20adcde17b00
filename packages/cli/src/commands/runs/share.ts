import { Option } from "commander";
import { clientCommand, withClient } from "../../client-command.ts";
import { exits, UsageError } from "../../exit-codes.ts";
import { numberParser } from "../../input/pairs.ts";
import { findRunId, RUN_ARGUMENT } from "../../input/run-id.ts";
import { sanitizeLine } from "../../terminal/sanitize.ts";

interface ShareFlags {
  hours?: number;
  revoke?: true;
}

export const shareCommand = clientCommand(
  "share",
  "Create a public link to a run and print it. It replaces any earlier link.",
)
  .argument("<run>", RUN_ARGUMENT)
  .option("--hours <number>", "validity of the link; default: 168", numberParser("--hours"))
  .addOption(new Option("--revoke", "revoke the link").conflicts("hours"))
  .action(
    withClient<ShareFlags>(async ({ client, out, flags }, given) => {
      const runId = await findRunId(client, given as string);
      if (flags.revoke) {
        await client.runs.unshare(runId);
        out.done({
          document: { run_id: runId, shared: false },
          id: runId,
          message: "Revoked the share link.",
        });
        return;
      }
      const body = flags.hours === undefined ? {} : { expires_in_hours: flags.hours };
      const document = await client.runs.share(runId, body);
      const { link, expires_at } = document;
      // The response to a retried request does not contain the link.
      if (!link)
        throw new UsageError("The link was created, but the response was lost. Share the run again.", {
          exit: exits.failed,
        });
      out.done({ document, id: link, message: link });
      if (!out.isJson)
        out.note(
          `Expires at ${sanitizeLine(expires_at)}. Revoke it with: outrider runs share ${runId} --revoke`,
        );
    }),
  );
