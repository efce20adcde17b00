import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import type { GatewayModel } from "./gateway-model.ts";
import type { TurnMeter } from "./turn-meter.ts";

/** Further requests that the gateway's server answers, such as those of the MCP bridge. */
export interface ExtraRoute {
  /** The beginning of the paths, such as `/mcp/`. */
  prefix: string;
  /** Answers a request. The gateway has not read its body. A rejection closes the connection. */
  handle(request: IncomingMessage, response: ServerResponse): void | Promise<void>;
}

export interface GatewayOptions {
  /** The run's model first, then its small model if it has one. */
  models: readonly GatewayModel[];
  /** Masks secrets in what goes back to the sandbox. */
  redact(text: string): string;
  extraRoutes?: readonly ExtraRoute[];
  /** Aborts when the execution ends. */
  signal: AbortSignal;
}

export class ModelGateway {
  readonly #server: Server;
  /** Set for each turn. Without it, model calls are refused. */
  meter: TurnMeter | undefined;

  constructor(_options: GatewayOptions) {
    this.#server = createServer((_request, response) => response.writeHead(501).end());
  }

  /** Serves one connection from the sandbox. */
  accept(connection: Duplex): void {
    this.#server.emit("connection", connection);
  }

  async close(): Promise<void> {}
}
