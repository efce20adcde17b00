import type { z } from "zod";
import type { ErrorCode } from "./error.ts";
import type { Scope } from "./key.ts";

export interface Answer {
  description: string;
  schema?: z.ZodType;
  /** The call can also stream; a resumable stream goes on behind `Last-Event-ID`. */
  stream?: true | "resumable";
  /** What the call answers with instead of JSON, by `Accept`; the first where nothing is asked for. */
  media?: readonly string[];
  headers?: Record<string, string>;
}

export interface Route {
  method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  path: string;
  tag: string;
  summary: string;
  description?: string;
  /** The scope that the key needs; finer rights are the engine's. */
  scope: Scope;
  params?: z.ZodObject;
  query?: z.ZodObject;
  body?: z.ZodType;
  /** Such a body may be as large as `limits.bodyWithAttachments`. */
  attachments?: true;
  answers: Record<number, Answer>;
  /** Errors of this call alone, besides those that every call can answer with. */
  errors: readonly ErrorCode[];
  /** A call that writes and is answered in read-only mode nevertheless. */
  whileReadOnly?: true;
  /** The operation that this one is another address of. */
  aliasOf?: string;
}

export const route = <const R extends Route>(definition: R) => definition;

export const gone = { 204: { description: "It is gone." } };
