import { ZodError } from "zod";
import { messageOf } from "../failure.ts";
import type { FileChange } from "../workspace.ts";
import type { CallOptions } from "./connection.ts";
import { SessionLostError } from "./http-transport.ts";
import type { ReducedTool } from "./messages/reduce-tool-list.ts";
import type { ServerToolResult } from "./messages/reduce-tool-result.ts";
import type { Link } from "./open-http-link.ts";

export const START_MS = 30_000;
export const CALL_MS = 120_000;
/** Errors are shortened to this length, which leaves room for the end of a stopped server's output. */
const MAX_ERROR_CHARACTERS = 4_000;
const MAX_SERVER_NAME_CHARACTERS = 200;
/** An invalid response is described by its first problems, because it can have any number of them. */
const MAX_ISSUES = 3;
/** A server that fails after this many restarts is not restarted again. */
const MAX_RESTARTS = 3;

export interface ServerOptions {
  name: string;
  open(signal: AbortSignal): Promise<Link>;
  /**
   * Redacts text from the server that is not stored as an event, or that is shortened before it becomes part of one.
   */
  redact(text: string): string;
  /** Returns the server's workspace changes since the last call. Absent if the server cannot change files. */
  changes?(): Promise<FileChange[]>;
  startMs?: number | undefined;
  callMs?: number | undefined;
}

/** One of a run's MCP servers. If its connection is lost, the next call reopens it. */
export class McpServer {
  readonly name: string;
  readonly options: ServerOptions;
  #link: Link | undefined;
  #starts = 0;
  #restarting: Promise<void> | undefined;
  #isClosed = false;

  constructor(options: ServerOptions) {
    this.options = options;
    this.name = options.name;
  }

  /** Connects to the server. Rejects with a message for the run's owner. */
  async start(signal: AbortSignal): Promise<void> {
    const { open, startMs = START_MS } = this.options;
    const timeout = AbortSignal.timeout(startMs);
    this.#starts += 1;
    try {
      this.#link = await open(AbortSignal.any([signal, timeout]));
    } catch (error) {
      signal.throwIfAborted();
      const reason = this.#describe(errorDetail(error));
      throw new Error(
        timeout.aborted ? `The server was not ready after ${startMs / 1000} s. ${reason}`.trim() : reason,
      );
    }
    if (this.#isClosed) await this.#link.close();
  }

  get tools(): ReducedTool[] {
    return this.#link?.connection.tools ?? [];
  }

  get receipt() {
    const link = this.#link;
    if (!link) throw new Error(`The MCP server ${this.name} has not been started.`);
    const server = this.options.redact(link.connection.server).slice(0, MAX_SERVER_NAME_CHARACTERS);
    return { name: this.name, transport: link.transport, server };
  }

  /** Calls a tool. A call that may have taken effect is never repeated. */
  async call(
    tool: string,
    input: Record<string, unknown>,
    signal: AbortSignal,
    onProgress = () => {},
  ): Promise<ServerToolResult> {
    await this.#ensureConnected(signal);
    const link = this.#link;
    const options = { signal, onProgress };
    try {
      return await this.#callOnce(tool, input, options);
    } catch (error) {
      if (!(error instanceof SessionLostError)) throw error;
      // Another call may have lost the same session and reopened it.
      if (this.#link === link) await this.#restart(signal);
      return await this.#callOnce(tool, input, options);
    }
  }

  async close() {
    this.#isClosed = true;
    await this.#link?.close().catch(() => {});
  }

  async #callOnce(tool: string, input: Record<string, unknown>, { signal, onProgress }: CallOptions) {
    const { callMs = CALL_MS } = this.options;
    const link = this.#link as Link;
    const timeout = new AbortController();
    const timer = setTimeout(() => timeout.abort(), callMs);
    // Progress restarts the timeout. The turn's time limit still applies, through the caller's signal.
    const restartTimeout = () => {
      timer.refresh();
      onProgress();
    };
    try {
      const options = { signal: AbortSignal.any([signal, timeout.signal]), onProgress: restartTimeout };
      return await link.connection.call(tool, input, options);
    } catch (error) {
      if (error instanceof SessionLostError) throw error;
      if (signal.aborted)
        throw new Error("The call was stopped before the server responded. It may have taken effect.");
      if (timeout.signal.aborted)
        throw new Error(
          `The server did not respond within ${callMs / 1000} s. The call may have taken effect.`,
        );
      const failure = link.connection.isClosed() ? await link.describeFailure() : "";
      throw new Error(
        this.#describe(
          failure === "" ? errorDetail(error) : `The MCP server ${this.name} has stopped. ${failure}`,
        ),
      );
    } finally {
      clearTimeout(timer);
    }
  }

  #describe(problem: string): string {
    return this.options.redact(problem).slice(0, MAX_ERROR_CHARACTERS);
  }

  async #ensureConnected(signal: AbortSignal) {
    if (!this.#link?.connection.isClosed()) return;
    if (this.#starts > MAX_RESTARTS) {
      const failure = this.#describe(await this.#link.describeFailure());
      throw new Error(`The MCP server ${this.name} has stopped and will not be restarted. ${failure}`.trim());
    }
    await this.#restart(signal);
  }

  /** Reopens the connection once, even if several calls need it. */
  async #restart(signal: AbortSignal) {
    this.#restarting ??= this.#reopen(signal).finally(() => {
      this.#restarting = undefined;
    });
    await this.#restarting;
  }

  async #reopen(signal: AbortSignal) {
    await this.#link?.close().catch(() => {});
    await this.start(signal).catch((error) => {
      signal.throwIfAborted();
      throw new Error(`The MCP server ${this.name} could not be restarted. ${messageOf(error)}`);
    });
  }
}

/** Returns an error's message. For an invalid response, the details are in the error's cause. */
function errorDetail(error: unknown): string {
  const { cause } = error instanceof Error ? error : {};
  if (!(cause instanceof ZodError)) return messageOf(error);
  const issues = cause.issues
    .slice(0, MAX_ISSUES)
    .map(({ path, message }) => `${path.join(".")}: ${message}`);
  return `The server sent an invalid MCP response: ${issues.join("; ")}`;
}
