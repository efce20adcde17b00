import type { CallToolResult } from "@ai-sdk/mcp";
import { messageOf } from "../failure.ts";
import type { FileChange } from "../workspace.ts";
import type { ListedTool } from "./connection.ts";
import { SessionLostError } from "./http-transport.ts";
import type { Link } from "./link.ts";

export const START_MS = 30_000;
export const CALL_MS = 120_000;
/** After so many a server that dies again is left alone. */
const RESTARTS = 3;

export interface ServerOptions {
  name: string;
  open(signal: AbortSignal): Promise<Link>;
  /** Makes what it said fit to be told. */
  clean(text: string): string;
  /** What it changed in the workspace since it was last asked; absent where it cannot. */
  changes?(): Promise<FileChange[]>;
  startMs?: number | undefined;
  callMs?: number | undefined;
}

/** One server of a run, from its start to the end of the execution. A connection that is lost is made again on use. */
export class McpServer {
  readonly name: string;
  readonly options: ServerOptions;
  private link: Link | undefined;
  private starts = 0;
  private isClosed = false;

  constructor(options: ServerOptions) {
    this.options = options;
    this.name = options.name;
  }

  /** Rejects with a sentence for the run's owner. */
  async start(signal: AbortSignal): Promise<void> {
    const { open, startMs = START_MS } = this.options;
    const late = AbortSignal.timeout(startMs);
    this.starts += 1;
    try {
      this.link = await open(AbortSignal.any([signal, late]));
    } catch (error) {
      signal.throwIfAborted();
      const reason = this.options.clean(detailOf(error));
      throw new Error(late.aborted ? `It was not ready after ${startMs / 1000} s. ${reason}`.trim() : reason);
    }
    if (this.isClosed) await this.link.close();
  }

  get tools(): ListedTool[] {
    return this.link?.connection.tools ?? [];
  }

  get receipt() {
    const { link } = this;
    if (!link) throw new Error(`The MCP server ${this.name} has not been started.`);
    return { name: this.name, transport: link.transport, server: this.options.clean(link.connection.server) };
  }

  /** What it cannot do is said in the error. A call that may have begun is never made twice. */
  async call(tool: string, input: Record<string, unknown>, signal: AbortSignal): Promise<CallToolResult> {
    await this.ready(signal);
    try {
      return await this.callOnce(tool, input, signal);
    } catch (error) {
      if (!(error instanceof SessionLostError)) throw error;
      await this.restart(signal);
      return await this.callOnce(tool, input, signal);
    }
  }

  async close() {
    this.isClosed = true;
    await this.link?.close().catch(() => {});
  }

  private async callOnce(tool: string, input: Record<string, unknown>, signal: AbortSignal) {
    const { callMs = CALL_MS, clean } = this.options;
    const link = this.link as Link;
    const late = AbortSignal.timeout(callMs);
    try {
      return await link.connection.call(tool, input, AbortSignal.any([signal, late]));
    } catch (error) {
      if (error instanceof SessionLostError) throw error;
      if (signal.aborted) throw new Error("It was stopped before it answered, and may have taken effect.");
      if (late.aborted)
        throw new Error(`It did not answer within ${callMs / 1000} s, and may have taken effect.`);
      const said = link.connection.isClosed() ? await link.complaint() : "";
      throw new Error(clean(said === "" ? detailOf(error) : `The MCP server ${this.name} is gone. ${said}`));
    }
  }

  private async ready(signal: AbortSignal) {
    if (!this.link?.connection.isClosed()) return;
    if (this.starts > RESTARTS) {
      const said = this.options.clean(await this.link.complaint());
      throw new Error(`The MCP server ${this.name} is gone and is not started again. ${said}`.trim());
    }
    await this.restart(signal);
  }

  private async restart(signal: AbortSignal) {
    await this.link?.close().catch(() => {});
    await this.start(signal).catch((error) => {
      signal.throwIfAborted();
      throw new Error(`The MCP server ${this.name} cannot be started again. ${messageOf(error)}`);
    });
  }
}

/** Where an answer cannot be read, the reason is behind the error. */
function detailOf(error: unknown): string {
  const { cause } = error instanceof Error ? error : {};
  const isUnreadable = cause instanceof Error && cause.name.includes("Zod");
  return isUnreadable
    ? `It sent an answer that is no MCP: ${cause.message.slice(0, 1_000)}`
    : messageOf(error);
}
