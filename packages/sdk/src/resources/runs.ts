import { path } from "../address.ts";
import { WaitTimeoutError } from "../errors.ts";
import type {
  CancelRunResponse,
  GetCommitsQuery,
  ListRunsQuery,
  ListRunsResponse,
  RunAgentRequest,
  RunAgentResponse,
  RunEvent,
  RunItem,
  ShareRequest,
  ShareResponse,
} from "../generated/models.ts";
import type { Http, RequestOptions } from "../http.ts";
import { type PagePromise, requestPage } from "../page.ts";
import { poll, type WaitOptions } from "../poll.ts";
import type { ResponsePromise } from "../promise.ts";
import type { Message } from "../sse.ts";
import { EventStream, type StreamOptions } from "../stream.ts";

/** List filters. Repeatable filters accept one value or an array. */
export type ListRunsParams = {
  [K in keyof ListRunsQuery]: NonNullable<ListRunsQuery[K]> extends (infer Each)[]
    ? Each | Each[]
    : ListRunsQuery[K];
};

/** Part of a message that the agent is writing. The complete message follows as `message.agent`. */
export interface MessageAgentDelta {
  type: "message.agent.delta";
  data: { text: string };
}

export interface RunStreamOptions extends StreamOptions {
  /** Include parts of messages while the agent writes them. They are not stored: parts that are sent while the connection is lost are missing. The complete message always follows. */
  deltas?: boolean;
}

export type TranscriptFormat = "markdown" | "json" | "ndjson";

const media: Record<TranscriptFormat, string> = {
  markdown: "text/markdown",
  json: "application/json",
  ndjson: "application/x-ndjson",
};

export class Runs {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /** Creates a run. Returns immediately; the agent starts later. */
  create(body: RunAgentRequest, options?: RequestOptions): ResponsePromise<RunAgentResponse> {
    return this.#http.request({ method: "POST", path: "/agent/run", body }, options);
  }

  /** Lists runs, newest first. Iterate over the result for all pages. */
  list(query?: ListRunsParams, options?: RequestOptions): PagePromise<RunItem, ListRunsResponse> {
    const call = { method: "GET", path: "/agent/runs", query };
    return requestPage(this.#http, {
      call,
      options,
      items: (body: ListRunsResponse) => body.runs,
      cursor: "cursor",
    });
  }

  get(runId: string, options?: RequestOptions): ResponsePromise<RunItem> {
    return this.#http.request({ method: "GET", path: path`/agent/runs/${runId}` }, options);
  }

  /** Deletes a finished run and all its data. */
  delete(runId: string, options?: RequestOptions): ResponsePromise<void> {
    return this.#http.request({ method: "DELETE", path: path`/agent/runs/${runId}` }, options);
  }

  /** Cancels a run that is not final. When the promise resolves, the run is CANCELLED. */
  cancel(runId: string, options?: RequestOptions): ResponsePromise<CancelRunResponse> {
    return this.#http.request({ method: "POST", path: path`/agent/runs/${runId}/cancel` }, options);
  }

  /** Creates a public link to a run. It replaces any earlier link and is shown once. */
  share(runId: string, body: ShareRequest = {}, options?: RequestOptions): ResponsePromise<ShareResponse> {
    return this.#http.request({ method: "POST", path: path`/agent/runs/${runId}/share`, body }, options);
  }

  /** Revokes a run's public link immediately. */
  unshare(runId: string, options?: RequestOptions): ResponsePromise<void> {
    return this.#http.request({ method: "DELETE", path: path`/agent/runs/${runId}/share` }, options);
  }

  /** Returns the transcript so far, as Markdown, as one JSON document, or as one event per line. */
  transcript(
    runId: string,
    format: TranscriptFormat = "markdown",
    options?: RequestOptions,
  ): ResponsePromise<string> {
    const where = path`/agent/runs/${runId}/transcript`;
    return this.#http.request(
      { method: "GET", path: where, accept: media[format], reading: "text" },
      options,
    );
  }

  /** Returns a run's changes as a patch for `git apply`. */
  diff(runId: string, options?: RequestOptions): ResponsePromise<string> {
    const where = path`/agent/runs/${runId}/diff`;
    return this.#http.request(
      { method: "GET", path: where, accept: "text/x-diff", reading: "text" },
      options,
    );
  }

  /** Downloads a run's commits in a repository as a git bundle, which `git fetch FILE refs/outrider/staged` reads. */
  commits(runId: string, query?: GetCommitsQuery, options?: RequestOptions): ResponsePromise<Uint8Array> {
    const where = path`/agent/runs/${runId}/commits`;
    return this.#http.request({ method: "GET", path: where, query, reading: "bytes" }, options);
  }

  /** Streams a run's events from the first one, or after `after`, until the run is final. */
  stream(
    runId: string,
    options: RunStreamOptions & { deltas: true },
  ): EventStream<RunEvent | MessageAgentDelta>;
  stream(runId: string, options?: RunStreamOptions): EventStream<RunEvent>;
  stream(
    runId: string,
    { deltas, ...options }: RunStreamOptions = {},
  ): EventStream<RunEvent | MessageAgentDelta> {
    const read = ({ id, event, data }: Message): RunEvent | MessageAgentDelta | undefined => {
      if (id !== undefined) return JSON.parse(data) as RunEvent;
      const isWanted = deltas && event === "message.agent.delta";
      return isWanted ? { type: event, data: JSON.parse(data) as { text: string } } : undefined;
    };
    return new EventStream({ http: this.#http, path: path`/agent/runs/${runId}/events`, options, read });
  }

  /** Waits until a run is final, or until it is BLOCKED and needs a follow-up. */
  wait(runId: string, options: WaitOptions = {}): Promise<RunItem> {
    return poll((each) => this.get(runId, each), options, {
      isSettled: ({ state }) => state !== "QUEUED" && state !== "INPROGRESS",
      error: (run) =>
        new WaitTimeoutError(`Run ${runId} is still ${run.state} after ${options.timeout} ms.`, { run }),
    });
  }

  /** Creates a run and waits for it. */
  async createAndWait(
    body: RunAgentRequest,
    { idempotencyKey, ...waiting }: WaitOptions & Pick<RequestOptions, "idempotencyKey"> = {},
  ): Promise<RunItem> {
    const { timeout: _, ...options } = waiting;
    const { run_id } = await this.create(body, { ...options, ...(idempotencyKey && { idempotencyKey }) });
    return this.wait(run_id, waiting);
  }
}
