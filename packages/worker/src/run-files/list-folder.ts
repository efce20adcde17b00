import { type RunFileEntry, runFileLimits } from "@outrider/contract/run-file";
import type { Redactor } from "../redaction/redact.ts";
import { firstBytes } from "../sandboxes/first-bytes.ts";
import type { Sandbox } from "../sandboxes/sandbox.ts";
import { checkExit, enterScript, readStderr } from "./enter-script.ts";

/** More than the entries of a list can have, because a name has at most 255 bytes. */
const MAX_LIST_BYTES = 1024 * 1024;
/** The end of the year 9999, in milliseconds. */
const MAX_TIME = 253_402_300_799_999;

interface ListOptions {
  redactor: Redactor;
  signal: AbortSignal;
}

/** Lists a folder of the workspace inside the sandbox. A folder can have millions of entries, of which it reads only a few. */
export async function listFolder(
  sandbox: Sandbox,
  path: string,
  { redactor, signal }: ListOptions,
): Promise<{ entries: RunFileEntry[]; is_truncated: boolean }> {
  const max = runFileLimits.entries;
  const script = `${enterScript(path)}
[[ -r . ]] || exit 47
find . -mindepth 1 -maxdepth 1 -printf '%y %s %T@ %f\\0' 2> /dev/null | head -z -n ${max + 1}
`;
  const command = await sandbox.inspect(script, { signal });
  command.stdin.on("error", () => {});
  command.stdin.end();
  const [output, stderr, { exitCode }] = await Promise.all([
    firstBytes(command.stdout, MAX_LIST_BYTES),
    readStderr(command.stderr),
    command.ended,
  ]);
  signal.throwIfAborted();
  checkExit(exitCode, stderr);
  const lines = output.toString().split("\0").slice(0, -1);
  const entries = lines.slice(0, max).flatMap((line) => parseEntry(line, redactor));
  return { entries: entries.sort(compareEntries), is_truncated: lines.length > max };
}

const types: Record<string, RunFileEntry["type"]> = { f: "file", d: "folder", l: "link" };

function parseEntry(line: string, redactor: Redactor): RunFileEntry[] {
  const [, kind, size, time, name] = /^(\S) (\d+) (-?[\d.]+) (.+)$/s.exec(line) ?? [];
  if (kind === undefined || name === undefined) return [];
  const type = types[kind] ?? "other";
  const modified = Math.floor(Number(time) * 1_000);
  return [
    {
      name: redactor.redact(name),
      type,
      ...(type === "file" ? { size_bytes: Math.min(Number(size), Number.MAX_SAFE_INTEGER) } : {}),
      ...(modified >= 0 && modified <= MAX_TIME ? { modified_at: new Date(modified).toISOString() } : {}),
    },
  ];
}

function compareEntries(a: RunFileEntry, b: RunFileEntry): number {
  const isFolder = (entry: RunFileEntry) => Number(entry.type === "folder");
  return isFolder(b) - isFolder(a) || (a.name < b.name ? -1 : Number(a.name > b.name));
}
