import { setTimeout as pause } from "node:timers/promises";

const ATTEMPT_TIMEOUT_MS = 5_000;
const TOTAL_TIMEOUT_MS = 60_000;
const RETRY_DELAY_MS = 100;

export interface ApiRequest {
  /** Groups the timings of requests. */
  name: string;
  method: "GET" | "POST";
  path: string;
  /** Every attempt sends the same key, so a lost answer does not repeat the effect. */
  idempotencyKey?: string;
  body?: object;
}

export interface Reply {
  status: number;
  // biome-ignore lint/suspicious/noExplicitAny: the client accepts answers of any shape
  body: any;
}

/** How long one successful request took. */
export interface Timing {
  name: string;
  at: number;
  ms: number;
}

/** An API client that alternates between the servers, retries until it gets an answer, and measures each request. */
export class Client {
  readonly #servers: string[];
  readonly #key: string;
  readonly timings: Timing[] = [];
  readonly problems: string[] = [];
  readonly counts = { answered: 0, unavailable: 0, unanswered: 0 };
  #requests = 0;
  /** When true, pending requests fail instead of retrying. */
  isStopped = false;

  constructor(servers: string[], key: string) {
    this.#servers = servers;
    this.#key = key;
  }

  get servers(): readonly string[] {
    return this.#servers;
  }

  /** Returns the servers in rotation. */
  nextServer(): string {
    return this.#servers[this.#requests++ % this.#servers.length] as string;
  }

  headers(): Record<string, string> {
    return { authorization: `Bearer ${this.#key}` };
  }

  /** Returns the first answer that does not ask for a retry. */
  async sendUntilAnswered(request: ApiRequest): Promise<Reply> {
    const deadline = Date.now() + TOTAL_TIMEOUT_MS;
    for (; Date.now() < deadline && !this.isStopped; await pause(RETRY_DELAY_MS)) {
      const reply = await this.send(this.nextServer(), request);
      if (reply && reply.status < 500 && reply.body?.error_code !== "idempotency_in_flight") return reply;
    }
    throw new Error(`${request.method} ${request.path} got no final answer in ${TOTAL_TIMEOUT_MS} ms.`);
  }

  /** Makes one attempt. Returns undefined if no answer arrives. */
  async send(
    server: string,
    { name, method, path, idempotencyKey, body }: ApiRequest,
  ): Promise<Reply | undefined> {
    const start = performance.now();
    try {
      const response = await fetch(`${server}/api/v1${path}`, {
        method,
        headers: {
          ...this.headers(),
          ...(idempotencyKey ? { "idempotency-key": idempotencyKey } : {}),
          ...(body ? { "content-type": "application/json" } : {}),
        },
        ...(body ? { body: JSON.stringify(body) } : {}),
        signal: AbortSignal.timeout(ATTEMPT_TIMEOUT_MS),
      });
      const reply = { status: response.status, body: await response.json() };
      if (reply.status < 400) this.timings.push({ name, at: Date.now(), ms: performance.now() - start });
      if (reply.status < 500) this.counts.answered++;
      else this.#recordServerError(`${method} ${path}`, response, reply);
      return reply;
    } catch {
      this.counts.unanswered++;
      return undefined;
    }
  }

  /** A server that cannot serve answers 503 with Retry-After. Anything else is a problem. */
  #recordServerError(call: string, { headers }: Response, { status, body }: Reply): void {
    this.counts.unavailable++;
    if (status !== 503) this.problems.push(`${call} returned ${status}: ${JSON.stringify(body)}`);
    else if (!headers.get("retry-after")) this.problems.push(`${call} returned 503 without Retry-After.`);
  }
}
