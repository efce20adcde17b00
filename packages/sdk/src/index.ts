// biome-ignore-all lint/performance/noBarrelFile: this is the entry point of the package
// biome-ignore-all lint/performance/noReExportAll: types have no cost at runtime
export type { Query } from "./address.ts";
export { type ClientOptions, Outrider, type UndocumentedOptions } from "./client.ts";
export {
  APIConnectionError,
  APIError,
  APIStatusError,
  APITimeoutError,
  APIUserAbortError,
  AuthenticationError,
  BadRequestError,
  ConflictError,
  InternalServerError,
  NotFoundError,
  OutriderError,
  PermissionDeniedError,
  RateLimitError,
  UnprocessableEntityError,
  WaitTimeoutError,
} from "./errors.ts";
export type * from "./generated/models.ts";
export type { FetchOptions, RequestOptions } from "./http.ts";
export type { Logger, LogLevel } from "./log.ts";
export type { Page, PagePromise } from "./page.ts";
export type { WaitOptions } from "./poll.ts";
export type { ResponsePromise } from "./promise.ts";
export type {
  ListRunsParams,
  MessageAgentDelta,
  RunStreamOptions,
  TranscriptFormat,
} from "./resources/runs.ts";
export type { EventStream, StreamOptions } from "./stream.ts";
export { version } from "./version.ts";
