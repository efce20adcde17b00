/**
 * A connection to an agent in a sandbox, over the pipes of its process. Updates of the session are handled one after the
 * other, and before the response that follows them: when `prompt` resolves, all updates of the prompt have been handled.
 *
 * The agent gets no file system and no terminal from the client, because it works inside the sandbox itself. It may do
 * everything there, so each of its requests for permission is granted.
 */
import {
  type ClientConnection,
  client,
  type McpServer,
  methods,
  PROTOCOL_VERSION,
  RequestError,
  type RequestPermissionRequest,
  type RequestPermissionResponse,
} from "@agentclientprotocol/sdk";
import { messageOf } from "@outrider/agent/failure";
import { z } from "zod";
import { StderrTail } from "../../mcp/stderr-tail.ts";
import type { Redactor } from "../../redaction/redact.ts";
import { describeExit } from "../../sandboxes/describe-exit.ts";
import type { Spawned } from "../../sandboxes/sandbox.ts";
import { MessageStream, ProtocolError } from "./message-stream.ts";
import type { Prompt } from "./profile.ts";
import { readSessionUpdate, type SessionUpdate } from "./session-update.ts";

/** An agent that is asked for a mode or a new session starts processes of its own first. */
const REQUEST_MS = 60_000;
const MAX_ERROR_CHARACTERS = 1_000;
/** A method that no agent has. The answer, an error, only shows that the agent has read the request. */
const PING = "_outrider/ping";

/** What the agent says about itself. A field of the wrong type counts as absent. */
const Initialized = z.object({
  agentInfo: z
    .object({ name: z.string().max(200), version: z.string().max(200) })
    .optional()
    .catch(undefined),
  agentCapabilities: z
    .object({
      loadSession: z.boolean().optional().catch(undefined),
      promptCapabilities: z
        .object({ image: z.boolean().optional().catch(undefined) })
        .optional()
        .catch(undefined),
      mcpCapabilities: z
        .object({ http: z.boolean().optional().catch(undefined) })
        .optional()
        .catch(undefined),
    })
    .optional()
    .catch(undefined),
});
export type Initialized = z.infer<typeof Initialized>;

const NewSession = z.object({ sessionId: z.string().min(1).max(1_000) });
const PromptEnd = z.object({ stopReason: z.string().max(200) });
export type PromptEnd = z.infer<typeof PromptEnd>;

export interface AgentConnectionOptions {
  process: Spawned;
  redactor: Redactor;
}

export interface SessionOptions {
  cwd: string;
  mcpServers: McpServer[];
  meta?: Record<string, unknown> | undefined;
  signal: AbortSignal;
}

export interface LoadOptions extends SessionOptions {
  /** Whether the agent may still be repeating the history after it has answered the request. */
  replaysLate?: boolean | undefined;
}

/** Thrown if the agent rejects a request, or if the connection ends before it has answered. */
export class AgentError extends Error {
  override name = "AgentError";
}

class TimeoutError extends Error {}

export class AgentConnection {
  /** Receives the updates of sessions. Without it, and while a session is being loaded, updates are dropped. */
  onUpdate: ((update: SessionUpdate, sessionId: string) => Promise<void>) | undefined;
  /** Resolves with the reason when the agent has exited or broken the protocol. */
  readonly closed: Promise<AgentError>;
  readonly #process: Spawned;
  readonly #tail: StderrTail;
  readonly #connection: ClientConnection;
  /** The number of sessions that are being loaded. */
  #loading = 0;
  /** The number of updates that were dropped. */
  #dropped = 0;
  #isClosing = false;
  #error: unknown;

  constructor({ process, redactor }: AgentConnectionOptions) {
    this.#process = process;
    this.#tail = new StderrTail(redactor);
    process.stderr.on("data", (data: Buffer) => this.#tail.add(data)).on("error", () => {});
    const { stream } = new MessageStream({
      stdin: process.stdin,
      stdout: process.stdout,
      onNotification: (method, params) => this.#handleNotification(method, params),
      onLog: (data) => this.#tail.add(data),
    });
    this.#connection = client({ name: "outrider" })
      .onRequest(methods.client.session.requestPermission, ({ params }) => allow(params))
      .connect(stream);
    this.closed = this.#connection.closed.then(() => this.#describeEnd());
  }

  /** The error of `onUpdate` that ended the connection, if there is one. It is not the agent's fault. */
  get updateError(): unknown {
    return this.#error;
  }

  async initialize(options: {
    clientMeta?: Record<string, unknown> | undefined;
    timeoutMs: number;
    signal: AbortSignal;
  }): Promise<Initialized> {
    const { clientMeta, timeoutMs, signal } = options;
    const request = this.#connection.agent.request(methods.agent.initialize, {
      protocolVersion: PROTOCOL_VERSION,
      clientInfo: { name: "outrider", version: "1" },
      clientCapabilities: {
        fs: { readTextFile: false, writeTextFile: false },
        terminal: false,
        ...(clientMeta ? { _meta: clientMeta } : {}),
      },
    });
    return read(Initialized, await this.#settle("start", request, { timeoutMs, signal }));
  }

  /** Creates a session and returns its id. */
  async newSession({ signal, ...options }: SessionOptions): Promise<string> {
    const request = this.#connection.agent.request(methods.agent.session.new, sessionRequest(options));
    const { sessionId } = read(NewSession, await this.#settle("create a session", request, { signal }));
    return sessionId;
  }

  /** Loads a session. The agent repeats the session's history as updates, which are already in the log. */
  async loadSession(
    sessionId: string,
    { signal, replaysLate = false, ...options }: LoadOptions,
  ): Promise<void> {
    const load = async () => {
      const params = { sessionId, ...sessionRequest(options) };
      await this.#connection.agent.request(methods.agent.session.load, params);
      if (replaysLate) await this.#skipHistory();
    };
    this.#loading += 1;
    try {
      await this.#settle("load the session", load(), { signal });
    } finally {
      this.#loading -= 1;
    }
  }

  /**
   * Resolves when the agent no longer repeats the history. It sends the updates one after the other, so until then there is
   * at least one between the answers to two requests.
   */
  async #skipHistory(): Promise<void> {
    let dropped: number;
    do {
      dropped = this.#dropped;
      await this.#connection.agent.request(PING).catch((error: unknown) => {
        if (!(error instanceof RequestError)) throw error;
      });
    } while (this.#dropped > dropped);
  }

  async setMode(
    sessionId: string,
    { modeId, signal }: { modeId: string; signal: AbortSignal },
  ): Promise<void> {
    const request = this.#connection.agent.request(methods.agent.session.setMode, { sessionId, modeId });
    await this.#settle(`change to the mode ${modeId}`, request, { signal });
  }

  /** Resolves when the agent has finished with the prompt, which may take as long as the turn. */
  async prompt(
    sessionId: string,
    { prompt, signal }: { prompt: Prompt; signal: AbortSignal },
  ): Promise<PromptEnd> {
    const request = this.#connection.agent.request(methods.agent.session.prompt, { sessionId, prompt });
    return read(
      PromptEnd,
      await this.#settle("process the prompt", request, { timeoutMs: Infinity, signal }),
    );
  }

  /** Asks the agent to stop. Its prompt then resolves with the stop reason `cancelled`. */
  async cancel(sessionId: string): Promise<void> {
    await this.#connection.agent.notify(methods.agent.session.cancel, { sessionId }).catch(() => {});
  }

  /** Kills the agent with all its processes. */
  async close(): Promise<void> {
    this.#isClosing = true;
    this.#connection.close();
    await this.#process.kill();
  }

  async #handleNotification(method: string, params: unknown): Promise<void> {
    if (method !== methods.client.session.update) return;
    if (this.#loading > 0 || !this.onUpdate) {
      this.#dropped += 1;
      return;
    }
    const notification = readSessionUpdate(params);
    if (!notification) return;
    try {
      await this.onUpdate(notification.update, notification.sessionId);
    } catch (error) {
      this.#error ??= error;
      throw error;
    }
  }

  /** Waits for the response to a request, at most for a time, and translates its errors. */
  async #settle(
    action: string,
    response: Promise<unknown>,
    { timeoutMs = REQUEST_MS, signal }: { timeoutMs?: number; signal: AbortSignal },
  ): Promise<unknown> {
    signal.throwIfAborted();
    const wait = new AbortController();
    const timer = timeoutMs === Infinity ? undefined : setTimeout(() => wait.abort(), timeoutMs);
    const stop = AbortSignal.any([signal, wait.signal]);
    const stopped = new Promise<never>((_, reject) => {
      stop.addEventListener("abort", () => reject(new TimeoutError()), { once: true });
    });
    try {
      return await Promise.race([response, stopped]);
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof TimeoutError)
        throw new AgentError(`The agent did not ${action} within ${Math.round(timeoutMs / 1_000)} s.`);
      if (error instanceof RequestError)
        throw new AgentError(`The agent could not ${action}: ${describe(error)}`);
      if (this.#error !== undefined) throw this.#error;
      throw await this.closed;
    } finally {
      clearTimeout(timer);
    }
  }

  /** Explains why the connection ended, and kills the agent, because nobody reads its output any more. */
  async #describeEnd(): Promise<AgentError> {
    const { reason } = this.#connection.signal;
    const problem =
      reason instanceof ProtocolError
        ? `It ${reason.message}.`
        : this.#isClosing
          ? ""
          : await describeExit(this.#process);
    this.#process.stdout.destroy();
    await this.#process.kill().catch(() => {});
    const output = this.#tail.read();
    return new AgentError(
      [
        "The connection to the agent ended.",
        problem,
        output === "" ? "" : `Last lines of its output: ${output}`,
      ]
        .filter(Boolean)
        .join(" "),
    );
  }
}

function sessionRequest({ cwd, mcpServers, meta }: Omit<SessionOptions, "signal">) {
  return { cwd, mcpServers, ...(meta ? { _meta: meta } : {}) };
}

function read<S extends z.ZodType>(schema: S, response: unknown): z.infer<S> {
  const { data, error } = schema.safeParse(response);
  if (error) throw new AgentError(`The agent sent an invalid response: ${z.prettifyError(error)}`);
  return data;
}

/** Grants a request for permission: the sandbox is the boundary, not the agent's own judgment. */
function allow({ options }: RequestPermissionRequest): RequestPermissionResponse {
  const find = (wanted: string) => options.find(({ kind }) => kind === wanted);
  const option = find("allow_always") ?? find("allow_once");
  return option
    ? { outcome: { outcome: "selected", optionId: option.optionId } }
    : { outcome: { outcome: "cancelled" } };
}

/** Agents put the useful part of an error in `data`, as a text or in a field of it. */
function describe(error: RequestError): string {
  const { data } = error as { data?: unknown };
  const fields = typeof data === "object" && data !== null ? Object.values(data) : [data];
  const details = fields.filter((field) => typeof field === "string" && field !== "").join(" ");
  const text = details === "" ? messageOf(error) : `${messageOf(error)}: ${details}`;
  return text.slice(0, MAX_ERROR_CHARACTERS);
}
