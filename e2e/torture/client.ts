import { setTimeout as pause } from "node:timers/promises";

const TRY_MS = 3_000;
const PATIENCE_MS = 60_000;
const BETWEEN_MS = 100;

export interface Reply {
  status: number;
  // biome-ignore lint/suspicious/noExplicitAny: answers of every shape come through here
  body: any;
}

export interface Ask {
  path: string;
  key: string;
  /** The same for every try, so that the effect comes once however often the answer is lost. */
  idempotencyKey: string;
  body?: object;
}

/** Somebody who asks and does not give up, at one server and at the other in turns. */
export class Client {
  readonly #servers: string[];
  #isDone = false;
  tries = 0;

  constructor(servers: string[]) {
    this.#servers = servers;
  }

  /** Whoever still insists gives up. */
  stop(): void {
    this.#isDone = true;
  }

  /** The first answer that is no "later"; throws where none comes, or one that no fault excuses. */
  async insist(ask: Ask): Promise<Reply> {
    let last = "nothing";
    for (
      const deadline = Date.now() + PATIENCE_MS;
      Date.now() < deadline && !this.#isDone;
      await pause(BETWEEN_MS)
    ) {
      const server = this.#servers[this.tries++ % this.#servers.length] as string;
      const reply = await send(server, ask).catch((error: Error) => error);
      last = reply instanceof Error ? reply.message : `${reply.status} ${JSON.stringify(reply.body)}`;
      if (reply instanceof Error || reply.status === 503) continue;
      if (reply.body?.error_code === "idempotency_in_flight") continue;
      if (reply.status >= 500) throw new Error(`POST ${ask.path} was answered ${last}`);
      return reply;
    }
    throw new Error(`POST ${ask.path} was not answered in ${PATIENCE_MS} ms, last: ${last}`);
  }
}

async function send(server: string, { path, key, idempotencyKey, body }: Ask): Promise<Reply> {
  const response = await fetch(`${server}/api/v1${path}`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${key}`,
      "idempotency-key": idempotencyKey,
      ...(body ? { "content-type": "application/json" } : {}),
    },
    ...(body ? { body: JSON.stringify(body) } : {}),
    signal: AbortSignal.timeout(TRY_MS),
  });
  return { status: response.status, body: await response.json() };
}
