import { execFile, spawn } from "node:child_process";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { root, watch } from "../process.ts";

/** A real language model of 135 million parameters, served by llama.cpp. */

const run = promisify(execFile);
const folder = join(root, ".tools/small-model");
const requirements = join(import.meta.dirname, "requirements.txt");

/** The context that the model was trained with. */
export const CONTEXT_TOKENS = 8_192;

export interface ModelServer extends AsyncDisposable {
  baseUrl: string;
}

/** Starts the server. Installs it first if necessary, and throws an error with the reason if that is impossible. */
export async function startModelServer(): Promise<ModelServer> {
  await install();
  const program = join(folder, "bin/python");
  const child = spawn(program, [join(import.meta.dirname, "serve.py"), String(CONTEXT_TOKENS)], {
    stdio: ["pipe", "pipe", "pipe"],
  });
  const running = watch(child, "llama.cpp");
  await running.waitForOutput("listening on ");
  const url = /listening on (http\S+)/.exec(running.stdout())?.[1];
  return {
    baseUrl: `${url}/v1`,
    async [Symbol.asyncDispose]() {
      child.stdin.end();
      await running.end("SIGTERM");
    },
  };
}

async function install(): Promise<void> {
  const stamp = join(folder, ".stamp");
  const wanted = readFileSync(requirements, "utf8");
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === wanted) return;
  rmSync(folder, { recursive: true, force: true });
  try {
    await run(join(root, ".tools/python/bin/python"), ["-m", "venv", folder]);
    await run(join(folder, "bin/python"), [
      ...["-m", "pip", "install", "--quiet", "--no-deps", "--only-binary", ":all:", "--no-cache-dir"],
      ...["--disable-pip-version-check", "-r", requirements],
    ]);
  } catch (error) {
    const { stderr, message } = error as Error & { stderr?: string };
    throw new Error(`The small model cannot be installed with pip: ${stderr?.trim() || message}`);
  }
  writeFileSync(stamp, wanted);
}
