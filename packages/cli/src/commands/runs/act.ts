import { spawn } from "node:child_process";
import { once } from "node:events";
import { clientCommand, withClient } from "../../client-command.ts";
import { Complaint, exits } from "../../exit.ts";
import { confirm } from "../../input/ask.ts";
import { runIdOf } from "../../input/named.ts";
import { harmlessLine } from "../../terminal/harmless.ts";

export const deleteCommand = clientCommand("delete", "Delete a finished run with everything of it.")
  .argument("<run>", "its id or session link")
  .option("-y, --yes", "do not ask")
  .action(
    withClient<{ yes?: true }>(async ({ client, out, flags }, given) => {
      const runId = runIdOf(given as string);
      await confirm(`Delete run ${harmlessLine(runId)}`, flags);
      await client.runs.delete(runId);
      out.done({ document: { run_id: runId, deleted: true }, id: runId, says: "Deleted." });
    }),
  );

export const openCommand = clientCommand("open", "Open a run's session in the browser.")
  .argument("<run>", "its id or session link")
  .option("--print", "print the link and open nothing")
  .action(
    withClient<{ print?: true }>(async ({ client, out, flags }, given) => {
      const { run_id, session_link } = await client.runs.get(runIdOf(given as string));
      if (!session_link || !/^https?:\/\//.test(session_link))
        throw new Complaint("It has no session yet: no worker has taken it.", { exit: exits.failed });
      const link = new URL(session_link).href;
      out.done({ document: { run_id, session_link: link }, id: link, says: link });
      if (flags.print || out.isJson) return;
      if (!(await browse(link))) out.say("No browser could be opened here: the link is above.");
    }),
  );

/** BROWSER, else what the system has for it. The link is one argument and goes through no shell. */
async function browse(link: string): Promise<boolean> {
  const usual = process.platform === "darwin" ? "open" : "xdg-open";
  // A browser hands its environment on to much else, and the key is none of its business.
  const { OUTRIDER_API_KEY: _, ...env } = process.env;
  const child = spawn(process.env.BROWSER || usual, [link], { env, stdio: "ignore", detached: true });
  try {
    await once(child, "spawn");
    child.unref();
    return true;
  } catch {
    return false;
  }
}
