import { OutriderError } from "./errors.ts";

export interface Answer<T> {
  response: Response;
  /** Absent where the response was asked for raw. */
  data?: T;
}

/** What sends the request. With `raw` it leaves the body to the caller. */
export type Perform<T> = (how: { raw: boolean }) => Promise<Answer<T>>;

/**
 * The promise of a call's value, which also gives the response behind it. The request leaves a moment after the call, so
 * that `.asResponse()` in the same breath still decides whether the body is read, or left for the caller to stream.
 */
export class ResponsePromise<T> extends Promise<T> {
  /** What `then` gives is a promise like any other. */
  static override get [Symbol.species](): PromiseConstructor {
    return Promise;
  }

  readonly #answer: Promise<Answer<T>>;
  #raw = false;
  #left = false;

  constructor(perform: Perform<T>) {
    let resolve: (value: T) => void = () => {};
    let reject: (reason: unknown) => void = () => {};
    super((yes, no) => {
      resolve = yes;
      reject = no;
    });
    this.#answer = Promise.resolve().then(() => {
      this.#left = true;
      return perform({ raw: this.#raw });
    });
    this.#answer.then(({ data }) => {
      if (!this.#raw) return resolve(data as T);
      // Who took the raw response seldom awaits the value as well, and must not be told of it as an unhandled error.
      this.catch(() => {});
      reject(new OutriderError("The body was left to asResponse(); use withResponse() for both."));
    }, reject);
  }

  /** The response as it arrives, its body not yet read. The timeout covers its head alone. */
  async asResponse(): Promise<Response> {
    if (this.#left && !this.#raw)
      throw new OutriderError("The body is being read: call asResponse() before anything is awaited.");
    this.#raw = true;
    this.catch(() => {});
    return (await this.#answer).response;
  }

  /** The value, and the response whose body was read for it. */
  async withResponse(): Promise<{ data: T; response: Response }> {
    const data = await this;
    return { data, response: (await this.#answer).response };
  }
}
