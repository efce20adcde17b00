import { Failure, messageOf } from "@outrider/agent/failure";
import { type Link, openHttpLink } from "@outrider/agent/mcp/link";
import { McpServer } from "@outrider/agent/mcp/server";
import { mcpTools } from "@outrider/agent/mcp/tools";
import type { Tool } from "@outrider/agent/tools/tool";
import type { FileChange } from "@outrider/agent/workspace";
import type { MCPServerConfig } from "@outrider/contract/agent-config";
import type { RunReceipt } from "@outrider/contract/run";
import type { Assignment } from "@outrider/contract/worker";
import type { Exceptions } from "../egress/exceptions.ts";
import type { Notice } from "../networks.ts";
import type { Redactor } from "../redact.ts";
import type { Sandbox } from "../sandboxes/sandbox.ts";
import { openRemote, type Remote } from "./remote.ts";
import { openSandboxed } from "./sandboxed.ts";
import { filled } from "./secrets.ts";

export interface McpOptions {
  assignment: Pick<
    Assignment,
    "agent_config" | "secrets" | "variables" | "run_id" | "execution_id" | "model"
  >;
  /** The run's sandbox, for servers that run in it. */
  workspace: {
    open(): Promise<unknown>;
    spawnBeside: Sandbox["spawn"];
    changesBeside(): Promise<FileChange[]>;
  };
  exceptions: Exceptions;
  redactor: Redactor;
  notice(notice: Notice): void;
  /** The execution is given up: everything that was started dies. */
  signal: AbortSignal;
  startMs?: number;
  callMs?: number;
}

export interface McpServers {
  tools: Tool[];
  receipt: NonNullable<RunReceipt["mcp_servers"]>;
  close(): Promise<void>;
}

/** Headers that say how a request is sent, which is ours to say. */
const OURS = [
  "host",
  "connection",
  "content-length",
  "transfer-encoding",
  "upgrade",
  "te",
  "trailer",
  "expect",
];

/** Starts all servers of a run at once. Rejects with a Failure that names the first one that cannot be started. */
export async function openMcpServers(options: McpOptions): Promise<McpServers> {
  const { assignment, workspace, exceptions, redactor, notice, signal } = options;
  const over = new AbortController();
  const life = AbortSignal.any([signal, over.signal]);
  const remote = openRemote({ exceptions });
  const configured = Object.entries(assignment.agent_config.mcp_servers ?? {});
  const servers = configured.map(([name, config]) => serverOf(name, config, { ...options, remote, life }));
  // What it takes to open the sandbox is not the servers' delay.
  if (configured.some(([, { url }]) => url === undefined)) await workspace.open();
  const close = async () => {
    await Promise.all(servers.map((server) => server.close()));
    over.abort();
    remote.close();
  };
  const starting = servers.map((server) =>
    server.start(life).catch((error: unknown) => {
      life.throwIfAborted();
      throw new Failure(
        "mcp_server_failed",
        `The MCP server ${server.name} did not start. ${messageOf(error)}`,
      );
    }),
  );
  try {
    await Promise.all(starting);
  } catch (error) {
    over.abort();
    await Promise.allSettled(starting);
    await close();
    signal.throwIfAborted();
    throw error;
  }
  const { tools, namesOf, notices } = mcpTools(servers, assignment.model);
  for (const message of notices) notice({ code: "mcp_tools", message: redactor.text(message) });
  return {
    tools,
    receipt: servers.map((server) => ({ ...server.receipt, tools: namesOf(server) })),
    close,
  };
}

type Opening = McpOptions & { remote: Remote; life: AbortSignal };

function serverOf(name: string, config: MCPServerConfig, options: Opening): McpServer {
  const { redactor, workspace, startMs, callMs } = options;
  const { url } = config;
  return new McpServer({
    name,
    startMs,
    callMs,
    clean: (text) => redactor.text(text),
    open: (signal) =>
      url === undefined ? inside(config, options, signal) : outside(url, config, options, signal),
    ...(url === undefined ? { changes: () => workspace.changesBeside() } : {}),
  });
}

async function inside(
  { command = "", args = [], env = {} }: MCPServerConfig,
  { assignment, workspace, redactor, life }: Opening,
  signal: AbortSignal,
): Promise<Link> {
  const { secrets, variables, run_id, execution_id } = assignment;
  const own = Object.entries(env).map(([name, value]) => [name, filled(value, secrets)]);
  return await openSandboxed({
    spawn: (line, how) => workspace.spawnBeside(line, how),
    command,
    args,
    env: {
      OUTRIDER_RUN_ID: run_id,
      OUTRIDER_EXECUTION_ID: execution_id,
      ...variables,
      ...Object.fromEntries(own),
    },
    redactor,
    signal,
    life,
  });
}

async function outside(
  url: string,
  { headers = {} }: MCPServerConfig,
  { assignment, remote }: Opening,
  signal: AbortSignal,
): Promise<Link> {
  const all = Object.entries(headers).map(([name, value]) => {
    if (OURS.includes(name.toLowerCase())) throw new Error(`Its header ${name} cannot be set: take it out.`);
    return [name.toLowerCase(), filled(value, assignment.secrets).trim()];
  });
  return await openHttpLink({
    url: new URL(url),
    headers: Object.fromEntries(all),
    send: remote.send,
    signal,
  });
}
