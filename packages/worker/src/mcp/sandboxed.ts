import { messageOf } from "@outrider/agent/failure";
import { connect } from "@outrider/agent/mcp/connection";
import type { Link } from "@outrider/agent/mcp/open-http-link";
import { StdioTransport } from "@outrider/agent/mcp/stdio-transport";
import { quote } from "../quote.ts";
import type { Redactor } from "../redaction/redact.ts";
import { describeExit } from "../sandboxes/describe-exit.ts";
import type { Sandbox } from "../sandboxes/sandbox.ts";
import { StderrTail } from "./stderr-tail.ts";

export interface SandboxedOptions {
  spawn: Sandbox["spawn"];
  command: string;
  args: string[];
  env: Record<string, string>;
  redactor: Redactor;
  /** Aborts when starting the server takes too long. */
  signal: AbortSignal;
  /** Aborts at the end of the execution, which kills the server. */
  lifetime: AbortSignal;
}

/** Starts a stdio MCP server inside the sandbox and connects to its pipes. */
export async function openSandboxed(options: SandboxedOptions): Promise<Link> {
  const { spawn, command, args, env, redactor, signal, lifetime } = options;
  const line = `exec ${[command, ...args].map(quote).join(" ")}`;
  const spawned = await spawn(line, { signal: lifetime, env });
  const tail = new StderrTail(redactor);
  spawned.stderr.on("data", (data: Buffer) => tail.add(data)).on("error", () => {});
  const transport = new StdioTransport({ ...spawned, onLog: (data) => tail.add(data) });
  const describeFailure = async () => {
    const problem = transport.failure ?? (await describeExit(spawned));
    const output = tail.read();
    return [problem, output === "" ? "It printed nothing." : `Last lines of its output: ${output}`]
      .filter(Boolean)
      .join(" ");
  };
  try {
    const connection = await connect(transport, signal);
    return {
      transport: "stdio",
      connection,
      describeFailure,
      async close() {
        await connection.close();
        await spawned.kill();
      },
    };
  } catch (error) {
    const failure = await describeFailure();
    await spawned.kill();
    const isClosed = signal.aborted || messageOf(error) === "Connection closed";
    throw new Error(isClosed ? failure : `${messageOf(error).replace(/\.$/, "")}. ${failure}`);
  }
}
