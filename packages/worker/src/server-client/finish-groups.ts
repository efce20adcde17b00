import type { FinishAllResponse, FinishRequest, FinishResponse } from "@outrider/contract/worker";

/**
 * Collects the ends of turns that a worker reports at about the same time, so that they share a request. While such a request
 * is under way, further ends form the next group.
 *
 * A group is only a shortcut. The end of a turn is reported in a request of its own if it is alone, if it is large, or if the
 * group did not end the turn for any reason, such as a lost response. That request is retried, and says what is wrong. Both
 * requests contain the same batch number, so the server ends the turn only once.
 */

const MAX_GROUP = 64;
const MAX_CHARACTERS = 32_768;
/** A group whose response takes longer does not delay the next one. */
const MAX_DELAY_MS = 50;

interface Waiting {
  executionId: string;
  json: string;
  /** Called with undefined if the turn must be ended by a request of its own. */
  resolve(response: FinishResponse | undefined): void;
}

export class FinishGroups {
  /** Sends the JSON text of a FinishAllRequest. */
  readonly #send: (json: string) => Promise<FinishAllResponse>;
  readonly #waiting: Waiting[] = [];
  #isScheduled = false;
  #isSending = false;

  constructor(send: (json: string) => Promise<FinishAllResponse>) {
    this.#send = send;
  }

  /** Ends a turn in a group. Resolves with undefined if it must be ended by a request of its own. Never rejects. */
  finish(executionId: string, body: FinishRequest, signal: AbortSignal): Promise<FinishResponse | undefined> {
    const json = JSON.stringify({ execution_id: executionId, ...body });
    if (json.length > MAX_CHARACTERS || signal.aborted) return Promise.resolve(undefined);
    return new Promise((resolve) => {
      const stop = () => settle(undefined);
      const settle = (response: FinishResponse | undefined) => {
        signal.removeEventListener("abort", stop);
        resolve(response);
      };
      signal.addEventListener("abort", stop);
      this.#waiting.push({ executionId, json, resolve: settle });
      this.#schedule();
    });
  }

  /** Waits for other turns that end in the same turn of the event loop. */
  #schedule() {
    if (this.#isScheduled || this.#isSending || this.#waiting.length === 0) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.#sendNext();
    });
  }

  #sendNext() {
    const group = this.#waiting.splice(0, MAX_GROUP);
    if (group.length === 1) return group[0]?.resolve(undefined);
    this.#isSending = true;
    const allowNext = () => {
      clearTimeout(timer);
      this.#isSending = false;
      this.#schedule();
    };
    const timer = setTimeout(allowNext, MAX_DELAY_MS);
    void this.#sendGroup(group).finally(allowNext);
  }

  async #sendGroup(group: Waiting[]): Promise<void> {
    const json = `{"finishes":[${group.map((waiting) => waiting.json).join(",")}]}`;
    const { finished } = await this.#send(json).catch(() => ({ finished: [] }));
    const responses = new Map(finished.map(({ execution_id, ...response }) => [execution_id, response]));
    for (const { executionId, resolve } of group) resolve(responses.get(executionId));
  }
}
