import { firstBytes } from "../first-bytes.ts";
import type { InitCommand } from "../init/init-connection.ts";
import { SandboxFileError } from "../sandbox.ts";

const timeoutMs = 60_000;
const notFoundCode = 44;
const notAFileCode = 45;

/** Runs native/sandbox-files.c inside a sandbox. */
export type RunFileProgram = (args: string[], stdin: boolean) => Promise<InitCommand>;

export async function readFileInside(run: RunFileProgram, path: string, limit: number): Promise<Buffer> {
  const command = await run(["read", String(limit), path], false);
  return await finish(command, { path, limit });
}

export async function writeFileInside(run: RunFileProgram, path: string, data: Buffer): Promise<void> {
  const command = await run(["write", String(data.length), path], true);
  command.stdin.end(data);
  await finish(command, { path, limit: 0 });
}

export async function removeFileInside(run: RunFileProgram, path: string): Promise<void> {
  const command = await run(["remove", path], false);
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
