import { openStorage } from "@outrider/server/blobs/open-storage";
import { readConfig } from "@outrider/server/config";
import { moveBlobs } from "@outrider/server/engine/operations/move-blobs";
import { Command } from "commander";
import { exits, UsageError } from "../exit-codes.ts";
import { count, createProgressReporter, megabytes } from "../terminal/progress.ts";
import { locationOptions } from "../with-installation.ts";

interface MoveFlags {
  from?: string;
  to: string;
  quiet?: true;
  json?: true;
  dataDir?: string;
}

const moveCommand = new Command("move")
  .description(
    "Copy the files of runs to another storage. It can be interrupted and repeated, and servers can keep running.",
  )
  .requiredOption("--to <storage>", "target: s3://BUCKET/PREFIX, or an absolute path")
  .option(
    "--from <storage>",
    "source: an absolute path or s3://BUCKET/PREFIX; default: OUTRIDER_BLOBS, or blobs/ in the data directory",
  )
  .option("-q, --quiet", "print nothing unless it fails")
  .option("--json", "print a summary as JSON")
  .option(...(locationOptions[0] as [string, string]))
  .action(async ({ from, to, quiet, json, dataDir }: MoveFlags) => {
    const place = dataDir === undefined ? {} : { dataDir };
    const open = (blobs?: string) =>
      openStorage(readConfig({ ...place, ...(blobs === undefined ? {} : { blobs }) }).blobs);
    const [source, target] = [await open(from), await open(to)];
    if (source.location === target.location)
      throw new UsageError(`--to must be another storage than ${source.location}.`);
    const interruption = new AbortController();
    const interrupt = () => interruption.abort();
    for (const name of ["SIGINT", "SIGTERM"] as const) process.on(name, interrupt);
    const isQuiet = quiet === true;
    const report = createProgressReporter({ isQuiet });
    const { signal } = interruption;
    const done = await moveBlobs({
      from: source,
      to: target,
      signal,
      progress: ({ copied }) => report({ what: "files", done: copied, unit: "files" }),
    }).catch((error) => {
      if (!signal.aborted) throw error;
      throw new UsageError("Interrupted. Start it again to copy the rest.", {
        exit: exits.interrupted,
        code: "interrupted",
      });
    });
    const { present, copied, bytes, damaged } = done;
    if (json) console.log(JSON.stringify({ from: source.location, to: target.location, ...done }));
    if (!isQuiet)
      process.stderr.write(
        `${target.location}: copied ${count(copied, "file", "files")} (${megabytes(bytes)}), ` +
          `${count(present, "file was", "files were")} there already. ${source.location} is unchanged.\n`,
      );
    if (damaged.length > 0)
      throw new UsageError(
        `${count(damaged.length, "file is", "files are")} damaged and were not copied: ${damaged.slice(0, 5).join(", ")}${damaged.length > 5 ? " …" : ""}. ` +
          "Restore them from a backup, or move them to another location.",
        { exit: exits.failed, code: "damaged" },
      );
  });

export const blobsCommand = new Command("blobs")
  .description("Move the files of runs to another storage.")
  .addCommand(moveCommand);
