import { spawn } from "node:child_process";
import { join } from "node:path";
import { root, watch } from "../process.ts";
import type { Outcome } from "./behavior.ts";
import type { DriverInput } from "./typescript.ts";

export const folder = join(root, "sdks/python");
export const interpreter = join(root, ".tools/python/bin/python");

interface Running {
  args: string[];
  /** Interpreter to use instead of the default one. */
  by?: string;
  environment?: Record<string, string>;
  input?: string;
}

/** Runs Python with the source of the client on its path. On failure, the error contains its output. */
export async function python({ args, by = interpreter, environment = {}, input }: Running): Promise<string> {
  const child = spawn(by, args, {
    cwd: folder,
    env: {
      ...process.env,
      NO_PROXY: "127.0.0.1",
      PYTHONDONTWRITEBYTECODE: "1",
      PYTHONPATH: join(folder, "src"),
      ...environment,
    },
    stdio: ["pipe", "pipe", "pipe"],
  });
  child.stdin.end(input);
  const running = watch(child, args.join(" "));
  const { code } = await running.ended;
  if (code !== 0) {
    const said = (running.stdout() + running.stderr()).slice(-12_000);
    throw new Error(`python ${args.join(" ")} ended with ${code}:\n${said}`);
  }
  return running.stdout();
}

const script = join(import.meta.dirname, "python.py");

/** Runs the behaviors with one of the two Python clients. */
export async function runPython(input: DriverInput, kind: "sync" | "async"): Promise<Outcome[]> {
  return JSON.parse(await python({ args: [script, "run", kind], input: JSON.stringify(input) }));
}

export async function pythonOffers(): Promise<string[]> {
  return JSON.parse(await python({ args: [script, "methods"] }));
}
