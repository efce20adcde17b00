import { finished } from "node:stream/promises";
import { setTimeout as pause } from "node:timers/promises";
import { messageOf } from "@outrider/agent/failure";
import { connect } from "@outrider/agent/mcp/connection";
import { LineTransport } from "@outrider/agent/mcp/line-transport";
import type { Link } from "@outrider/agent/mcp/link";
import { quoted } from "../quoted.ts";
import type { Redactor } from "../redact.ts";
import type { Sandbox, Spawned } from "../sandboxes/sandbox.ts";
import { LastWords } from "./last-words.ts";

/** A server whose output has ended is most likely about to say how it ended itself. */
const ENDING_MS = 1_000;

export interface SandboxedOptions {
  spawn: Sandbox["spawn"];
  command: string;
  args: string[];
  env: Record<string, string>;
  redactor: Redactor;
  /** Aborts when it has taken too long. */
  signal: AbortSignal;
  /** Aborts at the end of the execution, whatever else happens: then it is killed. */
  life: AbortSignal;
}

/** Starts a stdio server inside the sandbox and speaks with it over its pipes. */
export async function openSandboxed(options: SandboxedOptions): Promise<Link> {
  const { spawn, command, args, env, redactor, signal, life } = options;
  const line = `exec ${[command, ...args].map(quoted).join(" ")}`;
  const spawned = await spawn(line, { signal: life, env });
  const words = new LastWords(redactor);
  spawned.stderr.on("data", (data: Buffer) => words.add(data)).on("error", () => {});
  const transport = new LineTransport({ ...spawned, noise: (data) => words.add(data) });
  const complaint = async () => {
    const problem = transport.failure ?? (await endingOf(spawned));
    const said = words.read();
    return [problem, said === "" ? "It said nothing." : `Its last lines: ${said}`].filter(Boolean).join(" ");
  };
  try {
    const connection = await connect(transport, signal);
    return {
      transport: "stdio",
      connection,
      complaint,
      async close() {
        await connection.close();
        await spawned.kill();
      },
    };
  } catch (error) {
    const said = await complaint();
    await spawned.kill();
    const isOver = signal.aborted || messageOf(error) === "Connection closed";
    throw new Error(isOver ? said : `${messageOf(error)}. ${said}`);
  }
}

/** Waits for the last of what it wrote, too. */
async function endingOf({ ended, stderr }: Spawned): Promise<string> {
  const all = Promise.all([ended, finished(stderr, { writable: false }).catch(() => {})]);
  const over = await Promise.race([all, pause(ENDING_MS, undefined, { ref: false })]);
  if (!over) return "";
  const [{ exitCode, signal }] = over;
  return exitCode === null
    ? `It was killed${signal ? ` by ${signal}` : ""}.`
    : `It exited with code ${exitCode}.`;
}
