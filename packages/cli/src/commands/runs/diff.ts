import { Option } from "commander";
import { clientCommand, withClient } from "../../client-command.ts";
import { findRunId, RUN_ARGUMENT } from "../../input/run-id.ts";
import { listPatchFiles } from "../../local-git/patch-files.ts";
import { readPatch } from "../../local-git/read-patch.ts";
import { page } from "../../terminal/pager.ts";
import { sanitize } from "../../terminal/sanitize.ts";
import { paintPatch } from "../../transcript/patch.ts";
import { statLines } from "../../transcript/patch-stat.ts";

interface DiffFlags {
  stat?: true;
  pager: boolean;
}

export const diffCommand = clientCommand("diff", "Print the changes of a run as a patch for `git apply`.")
  .argument("<run>", RUN_ARGUMENT)
  .option("--stat", "print the number of changed lines of each file")
  .addOption(new Option("--no-pager", "do not use a pager on a terminal"))
  .action(
    withClient<DiffFlags>(async ({ client, out, flags }, given) => {
      const runId = await findRunId(client, given as string);
      const bytes = await readPatch(client, runId);
      const patch = new TextDecoder().decode(bytes);
      const files = flags.stat ? listPatchFiles(patch) : [];
      if (out.isJson) {
        const changes = files.map(({ path, added, removed }) => ({ path, added, removed }));
        return out.document({ run_id: runId, ...(flags.stat ? { files: changes } : { patch }) });
      }
      if (bytes.length === 0) return out.note("No changes.");
      if (!flags.stat && !out.isTerminal && !out.style.isOn) return out.printBytes(bytes);
      const { style, width } = out;
      const text = flags.stat
        ? statLines(files, { style, width }).join("\n")
        : paintPatch(sanitize(patch).trimEnd(), style);
      if (out.isTerminal && flags.pager) await page(`${text}\n`);
      else out.print(text);
    }),
  );
