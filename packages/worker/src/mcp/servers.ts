import { Failure, messageOf } from "@outrider/agent/failure";
import { type Link, openHttpLink } from "@outrider/agent/mcp/open-http-link";
import { McpServer } from "@outrider/agent/mcp/server";
import { type DescribedTool, describeTools } from "@outrider/agent/mcp/tools";
import type { FileChange } from "@outrider/agent/workspace";
import type { MCPServerConfig } from "@outrider/contract/agent-config";
import type { RunReceipt } from "@outrider/contract/run";
import type { Assignment } from "@outrider/contract/worker";
import type { Notice } from "../egress/egress-session.ts";
import type { Exceptions } from "../egress/exceptions.ts";
import type { UpstreamProxy } from "../egress/upstream-proxy.ts";
import type { Redactor } from "../redaction/redact.ts";
import { executionLabel } from "../run/execution-label.ts";
import type { Sandbox } from "../sandboxes/sandbox.ts";
import { defaultStartMs, runnerSettings } from "./package-runners.ts";
import { openRemote, type Remote } from "./remote.ts";
import { openSandboxed } from "./sandboxed.ts";
import { fillSecrets } from "./secrets.ts";

export interface McpOptions {
  assignment: Pick<
    Assignment,
    "agent_config" | "secrets" | "variables" | "run_id" | "execution_id" | "model"
  >;
  /** The run's workspace, for servers that run in its sandbox. */
  workspace: {
    open(): Promise<unknown>;
    spawnService: Sandbox["spawn"];
    listServiceChanges(): Promise<FileChange[]>;
  };
  exceptions: Exceptions;
  upstream?: UpstreamProxy | undefined;
  redactor: Redactor;
  emitNotice(notice: Notice): void;
  /** Aborts when the execution is abandoned, which kills everything that was started. */
  signal: AbortSignal;
  startMs?: number;
  callMs?: number;
}

export interface McpServers {
  tools: DescribedTool[];
  receipt: NonNullable<RunReceipt["mcp_servers"]>;
  close(): Promise<void>;
}

/** Headers that control how a request is sent. Users cannot set them. */
const RESERVED_HEADERS = [
  "host",
  "connection",
  "content-length",
  "transfer-encoding",
  "upgrade",
  "te",
  "trailer",
  "expect",
];

/**
 * Starts all of a run's MCP servers in parallel. Rejects with a Failure that names the first server that did not start.
 */
export async function openMcpServers(options: McpOptions): Promise<McpServers> {
  const { assignment, workspace, exceptions, upstream, emitNotice, signal } = options;
  const closed = new AbortController();
  const lifetime = AbortSignal.any([signal, closed.signal]);
  const remote = openRemote({ exceptions, upstream });
  const configured = Object.entries(assignment.agent_config.mcp_servers ?? {});
  const servers = configured.map(([name, config]) =>
    createServer(name, config, { ...options, remote, lifetime }),
  );
  // Opening the sandbox must not count towards the servers' start timeout.
  if (configured.some(([, { url }]) => url === undefined)) await workspace.open();
  const close = async () => {
    await Promise.all(servers.map((server) => server.close()));
    closed.abort();
    remote.close();
  };
  const starting = servers.map((server) =>
    server.start(lifetime).catch((error: unknown) => {
      lifetime.throwIfAborted();
      throw new Failure(
        "mcp_server_failed",
        `The MCP server ${server.name} did not start. ${messageOf(error)}`,
      );
    }),
  );
  try {
    await Promise.all(starting);
  } catch (error) {
    closed.abort();
    await Promise.allSettled(starting);
    await close();
    signal.throwIfAborted();
    throw error;
  }
  const { tools, namesOf, notices } = describeTools(servers, assignment.model);
  for (const message of notices) emitNotice({ code: "mcp_tools", message });
  return {
    tools,
    receipt: servers.map((server) => ({ ...server.receipt, tools: namesOf(server) })),
    close,
  };
}

type OpenOptions = McpOptions & { remote: Remote; lifetime: AbortSignal };

function createServer(name: string, config: MCPServerConfig, options: OpenOptions): McpServer {
  const { redactor, workspace } = options;
  const { url, command, startup_timeout_seconds, call_timeout_seconds } = config;
  return new McpServer({
    name,
    startMs:
      options.startMs ??
      (startup_timeout_seconds === undefined ? defaultStartMs(command) : startup_timeout_seconds * 1_000),
    callMs: options.callMs ?? (call_timeout_seconds === undefined ? undefined : call_timeout_seconds * 1_000),
    redact: (text) => redactor.redact(text),
    open: (signal) =>
      url === undefined ? openInSandbox(config, options, signal) : openOverHttp(url, config, options, signal),
    ...(url === undefined ? { changes: () => workspace.listServiceChanges() } : {}),
  });
}

async function openInSandbox(
  { command = "", args = [], env = {} }: MCPServerConfig,
  { assignment, workspace, redactor, lifetime }: OpenOptions,
  signal: AbortSignal,
): Promise<Link> {
  const { secrets, variables, run_id, execution_id } = assignment;
  const serverEnv = Object.entries(env).map(([name, value]) => [name, fillSecrets(value, secrets)]);
  return await openSandboxed({
    spawn: (line, spawnOptions) => workspace.spawnService(line, spawnOptions),
    command,
    args,
    env: {
      OUTRIDER_RUN_ID: run_id,
      OUTRIDER_EXECUTION: executionLabel(execution_id),
      ...runnerSettings(command),
      ...variables,
      ...Object.fromEntries(serverEnv),
    },
    redactor,
    signal,
    lifetime,
  });
}

async function openOverHttp(
  url: string,
  { headers = {} }: MCPServerConfig,
  { assignment, remote }: OpenOptions,
  signal: AbortSignal,
): Promise<Link> {
  const filledHeaders = Object.entries(headers).map(([name, value]) => {
    if (RESERVED_HEADERS.includes(name.toLowerCase()))
      throw new Error(`The header ${name} cannot be set. Remove it from the configuration.`);
    return [name.toLowerCase(), fillSecrets(value, assignment.secrets).trim()];
  });
  return await openHttpLink({
    url: new URL(url),
    headers: Object.fromEntries(filledHeaders),
    send: remote.send,
    signal,
  });
}
