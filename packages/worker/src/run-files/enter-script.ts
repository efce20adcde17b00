import type { FileRequestFailure } from "@outrider/contract/worker/run-file";
import { quote } from "../quote.ts";
import { firstBytes } from "../sandboxes/first-bytes.ts";
import { sandboxPaths } from "../sandboxes/paths.ts";

/** The worker reads a path of a hostile workspace. The message is only for the log of the worker. */
export class RunFileError extends Error {
  override name = "RunFileError";
  readonly reason: FileRequestFailure;

  constructor(reason: FileRequestFailure, message: string = reason) {
    super(message);
    this.reason = reason;
  }
}

const reasons: Record<number, FileRequestFailure> = {
  44: "not_found",
  45: "not_a_folder",
  46: "too_large",
  47: "not_readable",
  48: "not_a_file",
};

/**
 * Returns a script that enters a folder of the workspace, one part of the path at a time, and follows no link. Commands of
 * the agent may replace a folder with a link in between. So the script finally compares the folder that it is in, as the
 * kernel reports it, with the expected one. Files outside of the workspace cannot be read in this way.
 */
export function enterScript(folder: string): string {
  const parts = folder === "" ? [] : folder.split("/");
  // The server refuses such paths too.
  if (parts.some((part) => /^\.{0,2}$/.test(part) || part.includes("\0")))
    throw new RunFileError("not_found");
  const { workspace } = sandboxPaths;
  return `
export LC_ALL=C
set -- ${parts.map(quote).join(" ")}
[[ ! -L ${workspace} ]] && cd -P ${workspace} 2> /dev/null || exit 44
for part in "$@"; do
  if [[ -L ./$part || ! -d ./$part ]]; then
    if [[ -L ./$part || -e ./$part ]]; then exit 45; else exit 44; fi
  fi
  cd -P "./$part" 2> /dev/null || exit 47
done
[[ "$(env pwd -P; printf x)" == ${quote([workspace, ...parts].join("/"))}$'\\nx' ]] || exit 45
`;
}

/** Throws the error that a script's exit code stands for. */
export function checkExit(exitCode: number | null, stderr: Buffer): void {
  if (exitCode === 0) return;
  const reason = exitCode === null ? undefined : reasons[exitCode];
  if (reason) throw new RunFileError(reason);
  throw new Error(stderr.toString().trim() || `The script ended with ${exitCode}.`);
}

export const readStderr = (stream: Parameters<typeof firstBytes>[0]) => firstBytes(stream, 1_000);
