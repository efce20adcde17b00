import { firstBytes } from "../../first-bytes.ts";
import type { InitCommand } from "../../init/init-connection.ts";
import { SandboxFileError } from "../../sandbox.ts";

/** Runs one of the worker's own bash scripts inside a sandbox. */
export type RunScript = (script: string, args: string[], stdin: "ignore" | "pipe") => Promise<InitCommand>;

const timeoutMs = 60_000;
const notFoundCode = 44;
const notAFileCode = 45;

const readScript = `
[[ -e $1 ]] || exit ${notFoundCode}
[[ -f $1 ]] || exit ${notAFileCode}
exec head -c "$2" -- "$1"
`;

// Follows symlinks to the target file, as an editor would. The size check detects input that was cut off because the
// worker died.
const writeScript = `
set -e
IFS= read -r -d "" target < <(realpath -mz -- "$1")
[[ ! -d $target ]] || exit ${notAFileCode}
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

const removeScript = `
[[ -e $1 || -L $1 ]] || exit ${notFoundCode}
[[ ! -d $1 || -L $1 ]] || exit ${notAFileCode}
exec rm -f -- "$1"
`;

export async function removeFileInside(run: RunScript, path: string): Promise<void> {
  const command = await run(removeScript, [path], "ignore");
  await finish(command, { path, limit: 0 });
}

async function finish(command: InitCommand, options: { path: string; limit: number }): Promise<Buffer> {
  const timer = setTimeout(() => command.kill(), timeoutMs);
  try {
    const [data, stderr, { exitCode }] = await Promise.all([
      firstBytes(command.stdout, options.limit),
      firstBytes(command.stderr, 1000),
      command.ended,
    ]);
    if (exitCode === 0) return data;
    throw fileError(exitCode, options.path, stderr.toString());
  } finally {
    clearTimeout(timer);
  }
}

function fileError(exitCode: number | null, path: string, stderr: string): SandboxFileError {
  if (exitCode === notFoundCode) return new SandboxFileError("not_found", `${path} does not exist.`);
  if (exitCode === notAFileCode) return new SandboxFileError("not_a_file", `${path} is not a file.`);
  const reason = exitCode === null ? "the sandbox was killed" : stderr.trim() || `exit code ${exitCode}`;
  return new SandboxFileError("failed", `${path}: ${reason}`);
}
