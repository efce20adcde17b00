import { writeFileSync } from "node:fs";
import { basename } from "node:path";
import { Command, Option } from "commander";
import { clientCommand, withClient } from "../client-command.ts";
import { Complaint } from "../exit.ts";
import { bytes } from "../terminal/figures.ts";

/** Large files over slow lines. */
const LONGEST_MS = 900_000;

interface GetFlags {
  output?: string;
  info?: true;
  force?: true;
}

const get = clientCommand("get", "Fetch a file that a run has left.")
  .argument("<artifact>", "its id, as `outrider runs get` shows it")
  .option("-o, --output <path>", "where to; - is stdout, and stdout is where it goes in a pipe")
  .option("--force", "replace a file that is there")
  .addOption(new Option("--info", "show what it is and fetch nothing").conflicts(["output", "force"]))
  .action(
    withClient<GetFlags>(async ({ client, out, flags }, id) => {
      const artifact = await client.artifacts.get(id as string);
      const { artifact_id, name, type, mime_type, size_bytes, run_id, created_at } = artifact;
      if (flags.info || (out.isJson && flags.output === undefined))
        return out.item({
          document: artifact,
          id: artifact_id,
          members: [
            ["artifact", artifact_id],
            ["name", name],
            ["type", `${type}, ${mime_type}`],
            ["size", bytes(size_bytes)],
            ["run", run_id],
            ["created", created_at],
          ],
        });
      const content = await client.artifacts.content(artifact_id, { timeout: LONGEST_MS });
      if (flags.output === "-" || (flags.output === undefined && !out.isTerminal)) {
        out.printBytes(content);
        return;
      }
      // A name from afar stays in this folder.
      const path = flags.output ?? basename(name);
      try {
        writeFileSync(path, content, { flag: flags.force ? "w" : "wx" });
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
        throw new Complaint(`${path} is there already: say --force to replace it, or -o for another path.`);
      }
      out.done({ document: { ...artifact, path }, id: path, says: `${path} (${bytes(size_bytes)})` });
    }),
  );

export const artifactCommand = new Command("artifact")
  .description("Files that runs have left.")
  .addCommand(get);
