import { spawn } from "node:child_process";
import { once } from "node:events";
import { clientCommand, withClient } from "../../client-command.ts";
import { exits, UsageError } from "../../exit-codes.ts";
import { confirm } from "../../input/prompt.ts";
import { findRunId, RUN_ARGUMENT } from "../../input/run-id.ts";
import { sanitizeLine } from "../../terminal/sanitize.ts";

export const deleteCommand = clientCommand("delete", "Delete a finished run and all of its data.")
  .argument("<run>", RUN_ARGUMENT)
  .option("-y, --yes", "skip the confirmation")
  .action(
    withClient<{ yes?: true }>(async ({ client, out, flags }, given) => {
      const runId = await findRunId(client, given as string);
      await confirm(`Delete run ${sanitizeLine(runId)}`, flags);
      await client.runs.delete(runId);
      out.done({ document: { run_id: runId, deleted: true }, id: runId, message: "Deleted." });
    }),
  );

export const openCommand = clientCommand("open", "Open the session page of a run in the browser.")
  .argument("<run>", RUN_ARGUMENT)
  .option("--print", "print the link without opening it")
  .action(
    withClient<{ print?: true }>(async ({ client, out, flags }, given) => {
      const { run_id, session_link } = await client.runs.get(await findRunId(client, given as string));
      if (!session_link || !/^https?:\/\//.test(session_link))
        throw new UsageError("The run has no session yet, because no worker has started it.", {
          exit: exits.failed,
        });
      const link = new URL(session_link).href;
      out.done({ document: { run_id, session_link: link }, id: link, message: link });
      if (flags.print || out.isJson) return;
      if (!(await openBrowser(link))) out.note("No browser found. Open the link above.");
    }),
  );

/** Opens a link in $BROWSER or the default browser. Uses no shell, so the link cannot inject commands. */
async function openBrowser(link: string): Promise<boolean> {
  const defaultOpener = process.platform === "darwin" ? "open" : "xdg-open";
  // Do not pass the API key to the browser and its child processes.
  const { OUTRIDER_API_KEY: _, ...env } = process.env;
  const child = spawn(process.env.BROWSER || defaultOpener, [link], { env, stdio: "ignore", detached: true });
  try {
    await once(child, "spawn");
    child.unref();
    return true;
  } catch {
    return false;
  }
}
