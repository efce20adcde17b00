import { OutriderError } from "./errors.ts";

export interface ApiResponse<T> {
  response: Response;
  /** Absent for a raw response. */
  data?: T;
}

/** Sends the request. With `raw`, leaves the body to the caller. */
export type Perform<T> = (options: { raw: boolean }) => Promise<ApiResponse<T>>;

/**
 * A promise of a call's result, with access to the HTTP response. The request is sent in the next microtask, so that an
 * immediate `.asResponse()` can leave reading the body to the caller.
 */
export class ResponsePromise<T> extends Promise<T> {
  /** Makes `then` return a Promise. */
  static override get [Symbol.species](): PromiseConstructor {
    return Promise;
  }

  readonly #response: Promise<ApiResponse<T>>;
  #raw = false;
  #isSent = false;

  constructor(perform: Perform<T>) {
    let resolve: (value: T) => void = () => {};
    let reject: (reason: unknown) => void = () => {};
    super((yes, no) => {
      resolve = yes;
      reject = no;
    });
    this.#response = Promise.resolve().then(() => {
      this.#isSent = true;
      return perform({ raw: this.#raw });
    });
    this.#response.then(({ data }) => {
      if (!this.#raw) return resolve(data as T);
      // Callers of asResponse() rarely await the value, so prevent an unhandled rejection.
      this.catch(() => {});
      reject(
        new OutriderError(
          "The body was left to asResponse(). Use withResponse() to get both data and response.",
        ),
      );
    }, reject);
  }

  /** Returns the response with an unread body. The timeout applies only to the headers. */
  async asResponse(): Promise<Response> {
    if (this.#isSent && !this.#raw)
      throw new OutriderError(
        "The body is already being read. Call asResponse() directly after the call, before any await.",
      );
    this.#raw = true;
    this.catch(() => {});
    return (await this.#response).response;
  }

  /** Returns the result together with the response, whose body is already read. */
  async withResponse(): Promise<{ data: T; response: Response }> {
    const data = await this;
    return { data, response: (await this.#response).response };
  }
}
