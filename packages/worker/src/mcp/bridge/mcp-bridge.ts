/**
 * Offers MCP servers to the agent in a sandbox, over streamable HTTP at `http://127.0.0.1:PORT/mcp/NAME`.
 *
 * The worker connects to the run's servers and knows their secrets. The agent only sees tools, their schemas and their
 * results. Every process in the sandbox can send requests, and any of them may be hostile, so that the size, the structure
 * and the number of requests, and the responses that nobody reads, are limited.
 *
 * The bridge has no state besides the calls in progress. A session id only tells apart the requests of different clients,
 * so that a client can cancel its own calls. A client that stays connected after a restart needs no new session.
 */
import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { messageOf } from "@outrider/agent/failure";
import type { ToolResult } from "@outrider/agent/tools/tool";
import type { ExtraRoute } from "../../gateway/model-gateway.ts";
import type { BridgedServer, BridgedTool } from "./bridged-server.ts";
import { BadRequestError, readMessage } from "./read-message.ts";
import { ResponseWriter } from "./response-writer.ts";
import {
  CallParams,
  CancelParams,
  InitializeParams,
  protocolVersions,
  type RpcId,
  type RpcMessage,
  rpcError,
  rpcErrors,
  rpcNotification,
  rpcResult,
} from "./rpc-message.ts";

/** Requests at the same time, of all processes in the sandbox. */
const MAX_REQUESTS = 64;
/** Tool calls at the same time. Agents make a few. */
const MAX_CALLS = 16;
const MAX_SESSION_CHARACTERS = 100;
/** Responses that the sandbox has not read yet. A result with images has up to 16 MiB. */
const MAX_UNREAD_BYTES = 64 * 2 ** 20;

export interface McpBridgeOptions {
  servers: readonly BridgedServer[];
  /** Aborts when the execution ends. */
  signal: AbortSignal;
}

export class McpBridge implements ExtraRoute {
  readonly prefix = "/mcp/";
  readonly #servers: ReadonlyMap<string, BridgedServer>;
  readonly #signal: AbortSignal;
  /** The calls in progress, by the client's session and the id of the request. */
  readonly #calls = new Map<string, AbortController>();
  #requests = 0;
  #unreadBytes = 0;

  constructor({ servers, signal }: McpBridgeOptions) {
    this.#servers = new Map(servers.map((server) => [server.name, server]));
    this.#signal = signal;
  }

  get names(): string[] {
    return [...this.#servers.keys()];
  }

  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const writer = new ResponseWriter(request, response);
    if (this.#requests >= MAX_REQUESTS)
      return writer.refuse(503, "Too many concurrent requests; retry in 1 s.", { "retry-after": "1" });
    this.#requests += 1;
    try {
      await this.#handle(request, writer);
    } catch (error) {
      if (!(error instanceof BadRequestError)) throw error;
      writer.refuse(error.status, error.message, {}, error.code);
    } finally {
      this.#requests -= 1;
    }
  }

  async #handle(request: IncomingMessage, writer: ResponseWriter): Promise<void> {
    const { method, headers, url = "" } = request;
    const server = this.#servers.get(serverName(url));
    if (!server) return writer.refuse(404, `There is no such MCP server. Servers: ${this.names.join(", ")}.`);
    // The bridge sends no messages of its own, so it offers no event stream (GET), and sessions have no end (DELETE).
    if (method !== "POST") return writer.refuse(405, "Send messages with POST.", { allow: "POST" });
    // Pages in a browser cannot send this type to another origin without permission.
    if (!/^application\/json\s*(;|$)/i.test(headers["content-type"] ?? ""))
      return writer.refuse(415, "The content type must be application/json.");
    const message = await readMessage(request);
    const session = sessionOf(request);
    const { id, method: rpcMethod, params } = message;
    if (id === undefined || rpcMethod === undefined) {
      if (rpcMethod === "notifications/cancelled") this.#cancel(session, params);
      return writer.accept();
    }
    if (rpcMethod === "tools/call") return await this.#call(server, { id, session, params, writer });
    if (rpcMethod === "initialize") writer.sessionId = randomUUID();
    writer.send(answer(server, { ...message, id }));
  }

  #cancel(session: string, params: RpcMessage["params"]) {
    const { data } = CancelParams.safeParse(params);
    if (data) this.#calls.get(callKey(session, data.requestId))?.abort();
  }

  async #call(server: BridgedServer, { id, session, params, writer }: Call): Promise<void> {
    const { data: call } = CallParams.safeParse(params);
    const tool = server.tools.find(({ name }) => name === call?.name);
    const key = callKey(session, id);
    if (!call || !tool || this.#calls.has(key) || this.#calls.size >= MAX_CALLS) {
      writer.send(this.#refuseCall(id, { tool, key }));
      return;
    }
    const stop = new AbortController();
    const onDisconnect = () => stop.abort();
    writer.response.once("close", onDisconnect);
    this.#calls.set(key, stop);
    writer.startStream();
    try {
      const signal = AbortSignal.any([this.#signal, stop.signal]);
      const result = await this.#run(tool, call, { writer, signal });
      writer.response.off("close", onDisconnect);
      // A cancelled request gets no response.
      if (stop.signal.aborted) writer.end();
      else this.#sendResult(writer, { id, result });
    } finally {
      this.#calls.delete(key);
    }
  }

  #refuseCall(id: RpcId, { tool, key }: { tool: BridgedTool | undefined; key: string }): object {
    if (!tool) return rpcError(id, rpcErrors.invalidParams, "The MCP server has no such tool.");
    if (this.#calls.has(key))
      return rpcError(id, rpcErrors.invalidRequest, "A request with this id is in progress.");
    const problem = `${MAX_CALLS} calls are in progress. Wait until one has ended, then repeat this one.`;
    return rpcResult(id, toContent(failed(problem)));
  }

  async #run(
    tool: BridgedTool,
    { arguments: input = {}, _meta }: CallParams,
    { writer, signal }: { writer: ResponseWriter; signal: AbortSignal },
  ): Promise<ToolResult> {
    const { progressToken } = _meta ?? {};
    let progress = 0;
    // Tells the client that the call is still in progress, so that its own timeout starts again.
    const onProgress = () => {
      progress += 1;
      if (progressToken !== undefined)
        writer.notify(rpcNotification("notifications/progress", { progressToken, progress }));
    };
    try {
      return await tool.call(input, { signal, onProgress });
    } catch (error) {
      return failed(messageOf(error));
    }
  }

  /** Sends a result, without its images if the sandbox does not read its responses. */
  #sendResult(writer: ResponseWriter, { id, result }: { id: RpcId; result: ToolResult }) {
    const { images = [], ...rest } = result;
    const imageBytes = images.reduce((total, { data }) => total + data.length, 0);
    const hasRoom = this.#unreadBytes + imageBytes <= MAX_UNREAD_BYTES;
    const bytes = writer.send(rpcResult(id, toContent(hasRoom ? result : rest)));
    this.#unreadBytes += bytes;
    writer.response.once("close", () => {
      this.#unreadBytes -= bytes;
    });
  }
}

interface Call {
  id: RpcId;
  session: string;
  params: RpcMessage["params"];
  writer: ResponseWriter;
}

/** Answers a request other than a call. */
function answer(server: BridgedServer, { id, method, params }: RpcMessage & { id: RpcId }): object {
  switch (method) {
    case "initialize": {
      const { data } = InitializeParams.safeParse(params);
      const asked = protocolVersions.find((version) => version === data?.protocolVersion);
      return rpcResult(id, {
        protocolVersion: asked ?? protocolVersions[0],
        capabilities: { tools: {} },
        serverInfo: { name: server.name, version: "1" },
      });
    }
    case "ping":
      return rpcResult(id, {});
    case "tools/list":
      return rpcResult(id, { tools: server.tools.map(toListedTool) });
    default:
      return rpcError(id, rpcErrors.methodNotFound, "The bridge offers only tools.");
  }
}

function toListedTool({ name, description, inputSchema, isReadOnly }: BridgedTool) {
  return {
    ...{ name, description, inputSchema },
    ...(isReadOnly ? { annotations: { readOnlyHint: true } } : {}),
  };
}

function toContent({ output, is_error, images = [] }: ToolResult) {
  return {
    content: [
      { type: "text", text: output },
      ...images.map(({ mime_type, data }) => ({
        type: "image",
        mimeType: mime_type,
        data: Buffer.from(data).toString("base64"),
      })),
    ],
    ...(is_error ? { isError: true } : {}),
  };
}

const failed = (output: string): ToolResult => ({ output, is_error: true });

const callKey = (session: string, id: RpcId) => JSON.stringify([session, id]);

function sessionOf({ headers }: IncomingMessage): string {
  const session = headers["mcp-session-id"];
  return typeof session === "string" ? session.slice(0, MAX_SESSION_CHARACTERS) : "";
}

/** Returns the part of the path after `/mcp/`. */
function serverName(url: string): string {
  const [, name = ""] = /^\/mcp\/([^/?#]+)\/?(?:\?.*)?$/.exec(url) ?? [];
  return name;
}
