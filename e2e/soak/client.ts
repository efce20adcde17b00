import { setTimeout as pause } from "node:timers/promises";

const TRY_MS = 5_000;
const PATIENCE_MS = 60_000;
const BETWEEN_MS = 100;

export interface Ask {
  /** What it is counted as. */
  name: string;
  method: "GET" | "POST";
  path: string;
  /** The same for every try, so that the effect comes once however often the answer is lost. */
  idempotencyKey?: string;
  body?: object;
}

export interface Reply {
  status: number;
  // biome-ignore lint/suspicious/noExplicitAny: answers of every shape come through here
  body: any;
}

/** One answer that came, and how long it took. */
export interface Timing {
  name: string;
  at: number;
  ms: number;
}

/** Somebody who asks at both servers in turns, does not give up, and keeps the time. */
export class Client {
  readonly #servers: string[];
  readonly #key: string;
  readonly timings: Timing[] = [];
  readonly problems: string[] = [];
  readonly counts = { answered: 0, refused: 0, unanswered: 0 };
  #turn = 0;
  /** Whoever still insists gives up. */
  isDone = false;

  constructor(servers: string[], key: string) {
    this.#servers = servers;
    this.#key = key;
  }

  get servers(): readonly string[] {
    return this.#servers;
  }

  /** Each time the next one. */
  nextServer(): string {
    return this.#servers[this.#turn++ % this.#servers.length] as string;
  }

  headers(): Record<string, string> {
    return { authorization: `Bearer ${this.#key}` };
  }

  /** The first answer that is no "later". */
  async insist(ask: Ask): Promise<Reply> {
    const deadline = Date.now() + PATIENCE_MS;
    for (; Date.now() < deadline && !this.isDone; await pause(BETWEEN_MS)) {
      const reply = await this.send(this.nextServer(), ask);
      if (reply && reply.status < 500 && reply.body?.error_code !== "idempotency_in_flight") return reply;
    }
    throw new Error(`${ask.method} ${ask.path} was not answered in ${PATIENCE_MS} ms.`);
  }

  /** One try; undefined where no answer came. */
  async send(server: string, { name, method, path, idempotencyKey, body }: Ask): Promise<Reply | undefined> {
    const began = performance.now();
    try {
      const response = await fetch(`${server}/api/v1${path}`, {
        method,
        headers: {
          ...this.headers(),
          ...(idempotencyKey ? { "idempotency-key": idempotencyKey } : {}),
          ...(body ? { "content-type": "application/json" } : {}),
        },
        ...(body ? { body: JSON.stringify(body) } : {}),
        signal: AbortSignal.timeout(TRY_MS),
      });
      const reply = { status: response.status, body: await response.json() };
      if (reply.status < 400) this.timings.push({ name, at: Date.now(), ms: performance.now() - began });
      if (reply.status < 500) this.counts.answered++;
      else this.#refused(`${method} ${path}`, response, reply);
      return reply;
    } catch {
      this.counts.unanswered++;
      return undefined;
    }
  }

  /** Whoever cannot serve says so, and when to come again. */
  #refused(call: string, { headers }: Response, { status, body }: Reply): void {
    this.counts.refused++;
    if (status !== 503) this.problems.push(`${call} was answered ${status}: ${JSON.stringify(body)}`);
    else if (!headers.get("retry-after")) this.problems.push(`${call} was answered 503 without Retry-After.`);
  }
}
