import { basename } from "node:path";
import { Command, Option } from "commander";
import { clientCommand, withClient } from "../client-command.ts";
import { bytes } from "../terminal/format.ts";
import { saveFile } from "../terminal/save-file.ts";

/** Long enough for large files over slow connections. */
const DOWNLOAD_TIMEOUT_MS = 900_000;

interface GetFlags {
  output?: string;
  info?: true;
  force?: true;
}

const get = clientCommand("get", "Download a file that a run produced.")
  .argument("<artifact>", "artifact ID, as shown by `outrider runs get`")
  .option("-o, --output <path>", "target file; - writes to stdout, which is the default in a pipe")
  .option("--force", "overwrite an existing file")
  .addOption(new Option("--info", "show details without downloading").conflicts(["output", "force"]))
  .action(
    withClient<GetFlags>(async ({ client, out, flags }, id) => {
      const artifact = await client.artifacts.get(id as string);
      const { artifact_id, name, artifact_type, mime_type, size_bytes, run_id, created_at } = artifact;
      if (flags.info || (out.isJson && flags.output === undefined))
        return out.item({
          document: artifact,
          id: artifact_id,
          fields: [
            ["artifact", artifact_id],
            ["name", name],
            ["type", `${artifact_type}, ${mime_type}`],
            ["size", bytes(size_bytes)],
            ["run", run_id],
            ["created", created_at],
          ],
        });
      const content = await client.artifacts.content(artifact_id, { timeout: DOWNLOAD_TIMEOUT_MS });
      if (flags.output === "-" || (flags.output === undefined && !out.isTerminal)) {
        out.printBytes(content);
        return;
      }
      // The name comes from the server, so it must not point outside the current directory.
      const path = flags.output ?? basename(name);
      saveFile(path, content, { force: flags.force === true });
      out.done({ document: { ...artifact, path }, id: path, message: `${path} (${bytes(size_bytes)})` });
    }),
  );

export const artifactCommand = new Command("artifact")
  .description("Download files that runs produced.")
  .addCommand(get);
