import { path } from "../address.ts";
import { WaitTimeoutError } from "../errors.ts";
import type {
  CancelRunResponse,
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
import type { ResponsePromise } from "../promise.ts";
import { pause } from "../retry.ts";
import type { Message } from "../sse.ts";
import { EventStream, type StreamOptions } from "../stream.ts";

/** Filters that may be repeated take one value or several. */
export type ListRunsParams = {
  [K in keyof ListRunsQuery]: NonNullable<ListRunsQuery[K]> extends (infer Each)[]
    ? Each | Each[]
    : ListRunsQuery[K];
};

/** A piece of the agent's words as they are spoken. The whole follows as `message.agent`. */
export interface MessageAgentDelta {
  type: "message.agent.delta";
  data: { text: string };
}

export interface RunStreamOptions extends StreamOptions {
  /** Also the pieces of what the agent is saying. They are not part of the log, and a cut loses some. */
  deltas?: boolean;
}

export interface WaitOptions extends Omit<RequestOptions, "timeout" | "idempotencyKey"> {
  /** Milliseconds for the whole wait, then WaitTimeoutError. Without it there is no end. */
  timeout?: number;
}

export type TranscriptFormat = "markdown" | "json" | "ndjson";

const media: Record<TranscriptFormat, string> = {
  markdown: "text/markdown",
  json: "application/json",
  ndjson: "application/x-ndjson",
};

const FIRST_LOOK_MS = 250;
const LONGEST_LOOK_MS = 4_000;

export class Runs {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /** Starts an agent. Answers at once; the agent works afterwards. */
  create(body: RunAgentRequest, options?: RequestOptions): ResponsePromise<RunAgentResponse> {
    return this.#http.request({ method: "POST", path: "/agent/run", body }, options);
  }

  /** Recent runs first; iterate over it for all pages. */
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

  /** Deletes a finished run with everything of it. */
  delete(runId: string, options?: RequestOptions): ResponsePromise<void> {
    return this.#http.request({ method: "DELETE", path: path`/agent/runs/${runId}` }, options);
  }

  /** Ends a run that is not final. When this resolves, it is CANCELLED. */
  cancel(runId: string, options?: RequestOptions): ResponsePromise<CancelRunResponse> {
    return this.#http.request({ method: "POST", path: path`/agent/runs/${runId}/cancel` }, options);
  }

  /** A link by which anybody can read the run; it replaces an earlier one. Shown this once. */
  share(runId: string, body: ShareRequest = {}, options?: RequestOptions): ResponsePromise<ShareResponse> {
    return this.#http.request({ method: "POST", path: path`/agent/runs/${runId}/share`, body }, options);
  }

  /** Ends the run's link at once. */
  unshare(runId: string, options?: RequestOptions): ResponsePromise<void> {
    return this.#http.request({ method: "DELETE", path: path`/agent/runs/${runId}/share` }, options);
  }

  /** The whole transcript so far: Markdown, one JSON document, or one event a line. */
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

  /** What the run has changed, as one patch that `git apply` takes. */
  diff(runId: string, options?: RequestOptions): ResponsePromise<string> {
    const where = path`/agent/runs/${runId}/diff`;
    return this.#http.request(
      { method: "GET", path: where, accept: "text/x-diff", reading: "text" },
      options,
    );
  }

  /** The run's events as they happen, from the first or behind `after`, until the run is final. */
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

  /** Resolves with the run once it is final, or BLOCKED: then it waits for a follow-up of yours. */
  async wait(runId: string, { timeout = Infinity, ...options }: WaitOptions = {}): Promise<RunItem> {
    const end = Date.now() + timeout;
    for (let look = FIRST_LOOK_MS; ; look = Math.min(look * 1.5, LONGEST_LOOK_MS)) {
      const run = await this.get(runId, options);
      if (run.state !== "QUEUED" && run.state !== "INPROGRESS") return run;
      if (Date.now() >= end)
        throw new WaitTimeoutError(`Run ${runId} is still ${run.state} after ${timeout} ms.`, run);
      await pause(Math.min(look, end - Date.now()), options.signal);
    }
  }

  /** `create`, then `wait`. */
  async createAndWait(
    body: RunAgentRequest,
    { idempotencyKey, ...waiting }: WaitOptions & Pick<RequestOptions, "idempotencyKey"> = {},
  ): Promise<RunItem> {
    const { timeout: _, ...options } = waiting;
    const { run_id } = await this.create(body, { ...options, ...(idempotencyKey && { idempotencyKey }) });
    return this.wait(run_id, waiting);
  }
}
