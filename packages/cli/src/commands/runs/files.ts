import { posix } from "node:path";
import type { RunFileEntry } from "@outrider/sdk";
import { clientCommand, withClient } from "../../client-command.ts";
import { findRunId, RUN_ARGUMENT } from "../../input/run-id.ts";
import { bytes } from "../../terminal/format.ts";
import { sanitizeLine } from "../../terminal/sanitize.ts";
import { saveFile } from "../../terminal/save-file.ts";

/** Long enough for large files over slow connections. */
const DOWNLOAD_TIMEOUT_MS = 900_000;

interface GetFlags {
  output?: string;
  force?: true;
}

const get = clientCommand("get", "Download a file of a run's workspace.")
  .argument("<run>", RUN_ARGUMENT)
  .argument("<path>", "path of the file, relative to the workspace")
  .option("-o, --output <path>", "target file; - writes to stdout, which is the default in a pipe")
  .option("--force", "overwrite an existing file")
  .action(
    withClient<GetFlags>(async ({ client, out, flags }, given, file) => {
      const runId = await findRunId(client, given as string);
      const path = file as string;
      const content = await client.files.read(runId, { path }, { timeout: DOWNLOAD_TIMEOUT_MS });
      if (flags.output === "-" || (flags.output === undefined && !out.isTerminal && !out.isJson)) {
        out.printBytes(content);
        return;
      }
      const target = flags.output ?? posix.basename(path);
      saveFile(target, content, { force: flags.force === true });
      const document = { run_id: runId, path: target, size_bytes: content.length };
      out.done({ document, id: target, message: `${target} (${bytes(content.length)})` });
    }),
  );

/** Marks folders and links as `ls -F` does. */
const marks = { folder: "/", link: "@", file: "", other: "" };

export const filesCommand = clientCommand("files", "List the files of a run's workspace.")
  .argument("<run>", RUN_ARGUMENT)
  .argument("[path]", "folder, relative to the workspace")
  .action(
    withClient(async ({ client, out }, given, folder) => {
      const runId = await findRunId(client, given as string);
      const document = await client.files.list(runId, folder === undefined ? {} : { path: folder as string });
      out.list<RunFileEntry>({
        ...{ document, rows: document.entries, emptyMessage: "No files." },
        id: ({ name }) => posix.join(document.path, name),
        columns: [
          { title: "NAME", text: ({ name, type }) => sanitizeLine(`${name}${marks[type]}`) },
          { title: "SIZE", text: ({ size_bytes }) => (size_bytes === undefined ? "" : bytes(size_bytes)) },
          { title: "MODIFIED", text: ({ modified_at }) => modified_at },
        ],
      });
      if (document.is_truncated) out.note("The folder has more entries, which are not listed.");
    }),
  )
  .addCommand(get);
