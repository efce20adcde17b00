import { resolve } from "node:path";
import type { InstallProgress } from "@outrider/worker/harnesses/install/installed-harness";
import { pinnedHarnessNames } from "@outrider/worker/harnesses/install/pinned-harnesses";
import { Command } from "commander";
import { UsageError } from "../../exit-codes.ts";
import { openInstaller } from "../../harness-installer.ts";
import { megabytes } from "../../terminal/progress.ts";
import { sanitizeLine } from "../../terminal/sanitize.ts";

const PROGRESS_MS = 2_000;

interface InstallFlags {
  folder?: string;
  dataDir?: string;
  package: string[];
  quiet?: true;
}

export const installCommand = new Command("install")
  .description(
    "Install agents on this machine, ahead of their first run. Workers on this machine use them if they have the same data directory or OUTRIDER_HARNESS_CACHE.",
  )
  .argument("<names...>", `agents: ${pinnedHarnessNames.join(", ")}, or one from harnesses.json`)
  .option(
    "--folder <path>",
    "install into this directory, to copy it to machines without access to npm packages (OUTRIDER_HARNESS_FOLDER)",
  )
  .option(
    "--data-dir <path>",
    "data directory of the server or worker that uses the agents (OUTRIDER_DATA_DIR, default .outrider)",
  )
  .option(
    "--package <name@version>",
    "version of an npm package that replaces the pinned one; repeatable",
    (text: string, all: string[]) => [...all, text],
    [],
  )
  .option("-q, --quiet", "print nothing unless it fails")
  .action(async (names: string[], flags: InstallFlags) => {
    const { installer, packagesOf } = openInstaller({
      dataDir: flags.dataDir,
      cache: flags.folder === undefined ? undefined : resolve(flags.folder),
    });
    const chosen = parsePackages(flags.package);
    if (chosen && names.length > 1) throw new UsageError("--package requires a single agent.");
    const stopping = new AbortController();
    const stop = () => stopping.abort(new Error("Interrupted."));
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, stop);
    const print = (text: string) => flags.quiet || process.stderr.write(`${sanitizeLine(text)}\n`);
    let failures = 0;
    for (const name of names) {
      const packages = chosen ?? packagesOf(name);
      try {
        const { version, bytes } = await installer.download(name, {
          packages,
          signal: stopping.signal,
          onProgress: reportProgress((text) => print(`${name}: ${text}`)),
        });
        print(`${name}: ${version} is installed (${megabytes(bytes)})`);
      } catch (error) {
        if (stopping.signal.aborted) throw error;
        process.stderr.write(`${sanitizeLine(`${name}: ${(error as Error).message}`)}\n`);
        failures++;
      }
    }
    if (failures > 0) process.exitCode = 1;
  });

function parsePackages(texts: string[]): Record<string, string> | undefined {
  if (texts.length === 0) return undefined;
  return Object.fromEntries(
    texts.map((text) => {
      const [, name, version] = /^(.+)@([^@]+)$/.exec(text) ?? [];
      if (!name || !version) throw new UsageError(`--package must be name@version, not "${text}".`);
      return [name, version];
    }),
  );
}

/** Prints each step once, and the size every few seconds. */
function reportProgress(print: (text: string) => void): (progress: InstallProgress) => void {
  const texts = {
    waiting: "waiting for another installation",
    resolving: "looking up its packages",
    downloading: "downloading",
    checking: "checking the files",
  };
  let last: { step: string; at: number } | undefined;
  return ({ step, bytes }) => {
    const now = Date.now();
    if (last?.step === step && (step !== "downloading" || now - last.at < PROGRESS_MS)) return;
    last = { step, at: now };
    print(step === "downloading" && bytes > 0 ? `${texts[step]}, ${megabytes(bytes)}` : texts[step]);
  };
}
