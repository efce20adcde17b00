import type { Command } from "./command.ts";
import { firstBytes } from "./output.ts";
import { SandboxFileError } from "./sandbox.ts";

/** Starts bash on a script of ours, with arguments, inside a sandbox. */
export type RunScript = (script: string, args: string[], stdin: "ignore" | "pipe") => Promise<Command>;

const timeoutMs = 60_000;
const notFound = 44;
const notAFile = 45;

const readScript = `
[[ -e $1 ]] || exit ${notFound}
[[ -f $1 ]] || exit ${notAFile}
exec head -c "$2" -- "$1"
`;

// Through links to the file they lead to, as an editor would. If we die half-way, the size does not fit.
const writeScript = `
set -e
IFS= read -r -d "" target < <(realpath -mz -- "$1")
[[ ! -d $target ]] || exit ${notAFile}
mkdir -p -- "\${target%/*}/"
draft=$(mktemp -- "\${target%/*}/.outrider-XXXXXXXX")
trap 'rm -f -- "$draft"' EXIT
cat > "$draft"
[[ $(stat -c %s -- "$draft") == "$2" ]]
if [[ -e $target ]]; then chmod --reference="$target" -- "$draft"; else chmod 644 -- "$draft"; fi
mv -fT -- "$draft" "$target"
`;

export async function readFileInside(run: RunScript, path: string, limit: number): Promise<Buffer> {
  const command = await run(readScript, [path, String(limit)], "ignore");
  return await finish(command, { path, limit });
}

export async function writeFileInside(run: RunScript, path: string, data: Buffer): Promise<void> {
  const command = await run(writeScript, [path, String(data.length)], "pipe");
  command.stdin.end(data);
  await finish(command, { path, limit: 0 });
}

async function finish(command: Command, options: { path: string; limit: number }): Promise<Buffer> {
  const timer = setTimeout(() => command.kill(), timeoutMs);
  try {
    const [data, complaint, { exitCode }] = await Promise.all([
      firstBytes(command.stdout, options.limit),
      firstBytes(command.stderr, 1000),
      command.ended,
    ]);
    if (exitCode === 0) return data;
    throw failure(exitCode, options.path, complaint.toString());
  } finally {
    clearTimeout(timer);
  }
}

function failure(exitCode: number | null, path: string, complaint: string): SandboxFileError {
  if (exitCode === notFound) return new SandboxFileError("not_found", `${path} does not exist.`);
  if (exitCode === notAFile) return new SandboxFileError("not_a_file", `${path} is not a file.`);
  const reason = exitCode === null ? "the sandbox was killed" : complaint.trim() || `exit code ${exitCode}`;
  return new SandboxFileError("failed", `${path}: ${reason}`);
}
