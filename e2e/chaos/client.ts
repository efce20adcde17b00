import { setTimeout as pause } from "node:timers/promises";

const ATTEMPT_TIMEOUT_MS = 3_000;
const TOTAL_TIMEOUT_MS = 60_000;
const RETRY_DELAY_MS = 100;

export interface Reply {
  status: number;
  // biome-ignore lint/suspicious/noExplicitAny: the client accepts answers of any shape
  body: any;
}

export interface ApiRequest {
  path: string;
  key: string;
  /** Every attempt sends the same key, so a lost answer does not repeat the effect. */
  idempotencyKey: string;
  body?: object;
}

/** An API client that reattempts until it gets an answer and alternates between the servers. */
export class Client {
  readonly #servers: string[];
  #isStopped = false;
  attempts = 0;

  constructor(servers: string[]) {
    this.#servers = servers;
  }

  /** Makes pending requests fail instead of retrying. */
  stop(): void {
    this.#isStopped = true;
  }

  /**
   * Returns the first answer that does not ask for a retry. Throws if none arrives in time, or if a server answers with
   * an error that no injected fault explains.
   */
  async sendUntilAnswered(request: ApiRequest): Promise<Reply> {
    let lastAnswer = "none";
    for (
      const deadline = Date.now() + TOTAL_TIMEOUT_MS;
      Date.now() < deadline && !this.#isStopped;
      await pause(RETRY_DELAY_MS)
    ) {
      const server = this.#servers[this.attempts++ % this.#servers.length] as string;
      const reply = await send(server, request).catch((error: Error) => error);
      lastAnswer = reply instanceof Error ? reply.message : `${reply.status} ${JSON.stringify(reply.body)}`;
      if (reply instanceof Error || reply.status === 503) continue;
      if (reply.body?.error_code === "idempotency_in_flight") continue;
      if (reply.status >= 500) throw new Error(`POST ${request.path} returned ${lastAnswer}`);
      return reply;
    }
    throw new Error(
      `POST ${request.path} got no final answer in ${TOTAL_TIMEOUT_MS} ms; last answer: ${lastAnswer}`,
    );
  }
}

async function send(server: string, { path, key, idempotencyKey, body }: ApiRequest): Promise<Reply> {
  const response = await fetch(`${server}/api/v1${path}`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${key}`,
      "idempotency-key": idempotencyKey,
      ...(body ? { "content-type": "application/json" } : {}),
    },
    ...(body ? { body: JSON.stringify(body) } : {}),
    signal: AbortSignal.timeout(ATTEMPT_TIMEOUT_MS),
  });
  return { status: response.status, body: await response.json() };
}
