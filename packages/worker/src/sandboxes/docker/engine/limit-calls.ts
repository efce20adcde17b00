/**
 * Makes every call of a client end: with a result, or with an EngineError after a time limit or when the connection breaks.
 * The client library alone waits forever if the engine dies in the middle of a response.
 */
import { Agent as HttpAgent } from "node:http";
import { Agent as HttpsAgent } from "node:https";
import type { Socket } from "node:net";
import { PassThrough, type Readable } from "node:stream";
import type Docker from "dockerode";
import { EngineError, explainEngineError } from "./errors.ts";

type Dial = Docker["modem"]["dial"];
type DialOptions = Parameters<Dial>[0];
type DialCallback = NonNullable<Parameters<Dial>[1]>;
type DialResult = Parameters<DialCallback>[1];

/** Calls that legitimately take long, and how many times longer than others. */
const slowCalls: [pattern: RegExp, factor: number][] = [
  [/\/(commit|images\/load|images\/create|images\/[^?]*\/push|build)\?/, 15],
  [/\/containers\/[^/]+\/(archive|export|stop|changes)\?/, 5],
  [/\/distribution\//, 2],
];
/** Calls that end only when a container does, or when the caller cancels them. */
const endlessCalls = /\/containers\/[^/]+\/wait\?/;

/** Changes the client. */
export function limitCalls(
  docker: Docker,
  { address, timeoutMs, usesTls }: { address: string; timeoutMs: number; usesTls: boolean },
): void {
  const { modem } = docker;
  const dial: Dial = modem.dial.bind(modem);
  modem.dial = (options, callback) => {
    const limitMs = limitOf(options.path, timeoutMs);
    const call = new Call({ address, limitMs, onSettled: callback as DialCallback });
    const agent = watchConnections(usesTls ? HttpsAgent : HttpAgent, call);
    // `dial` reads the agent before it returns, so every call can have its own. The types lack this member.
    Object.assign(modem, { agent });
    dial(call.limit(options), (error, result) =>
      error ? call.fail(explainEngineError(error, address)) : call.succeed(result),
    );
  };
}

function limitOf(path: string, timeoutMs: number): number | undefined {
  if (endlessCalls.test(path)) return undefined;
  return timeoutMs * (slowCalls.find(([pattern]) => pattern.test(path))?.[1] ?? 1);
}

/**
 * Returns an agent for one call, which fails when its last connection has closed. The agent keeps no idle connections: one
 * that was idle while the engine restarted would fail the next call.
 */
function watchConnections(Agent: typeof HttpAgent | typeof HttpsAgent, call: Call): HttpAgent {
  const agent = new Agent({ keepAlive: false });
  const create = agent.createConnection.bind(agent) as (...args: unknown[]) => Socket;
  let open = 0;
  agent.createConnection = (...args: unknown[]) => {
    const socket = create(...args);
    open += 1;
    socket.once("close", () => {
      open -= 1;
      // The end of a complete response is reported after its connection has closed.
      setImmediate(() => open === 0 && call.failBecauseClosed());
    });
    return socket;
  };
  return agent;
}

class Call {
  readonly #address: string;
  readonly #onSettled: DialCallback;
  readonly #controller = new AbortController();
  readonly #timer: NodeJS.Timeout | undefined;
  #isSettled = false;

  constructor({
    address,
    limitMs,
    onSettled,
  }: {
    address: string;
    limitMs: number | undefined;
    onSettled: DialCallback;
  }) {
    this.#address = address;
    this.#onSettled = onSettled;
    if (limitMs !== undefined) this.#timer = setTimeout(() => this.#timeOut(limitMs), limitMs);
  }

  /** Returns the options with a signal and, for an upload, with a stream whose chunks restart the time limit. */
  limit(options: DialOptions): DialOptions {
    const { abortSignal, file } = options;
    const { signal } = this.#controller;
    const limited = {
      ...options,
      abortSignal: abortSignal ? AbortSignal.any([abortSignal, signal]) : signal,
    };
    if (file === undefined || typeof file === "string" || Buffer.isBuffer(file)) return limited;
    return { ...limited, file: this.#watchUpload(file as Readable) };
  }

  #watchUpload(upload: Readable): PassThrough {
    const passThrough = new PassThrough();
    upload.on("data", () => this.#timer?.refresh());
    upload.on("error", (error) => passThrough.destroy(error));
    passThrough.on("close", () => upload.destroy());
    return upload.pipe(passThrough);
  }

  succeed(result: DialResult): void {
    this.#settle(null, result);
  }

  fail(error: EngineError): void {
    this.#settle(error, null);
  }

  failBecauseClosed(): void {
    this.fail(
      new EngineError(
        "unreachable",
        `The container engine at ${this.#address} closed the connection in the middle of a call. It may have stopped or restarted. Check whether it runs.`,
      ),
    );
  }

  #timeOut(limitMs: number): void {
    const error = new EngineError(
      "timeout",
      `The container engine at ${this.#address} did not respond within ${Math.ceil(limitMs / 1_000)} s. Check whether it is overloaded, and restart it if it hangs.`,
    );
    this.fail(error);
    this.#controller.abort(error);
  }

  #settle(error: EngineError | null, result: DialResult): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    clearTimeout(this.#timer);
    this.#onSettled(error, result);
  }
}
