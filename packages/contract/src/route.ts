import type { z } from "zod";
import type { Scope } from "./auth/key.ts";
import type { ErrorCode } from "./errors/error.ts";

export interface ResponseSpec {
  description: string;
  schema?: z.ZodType;
  /** Set if the operation can also stream. A resumable stream continues after `Last-Event-ID`. */
  stream?: true | "resumable";
  /** Media types that the operation can return instead of JSON. `Accept` selects one; the first is the default. */
  media?: readonly string[];
  /** Set if the content is a file: it has an `ETag`, and a `Range` header selects a part of it. */
  ranges?: true;
  headers?: Record<string, string>;
}

export interface Route {
  method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  path: string;
  tag: string;
  summary: string;
  description?: string;
  /** The scope that the key must have. The engine checks permissions on individual resources. */
  scope: Scope;
  params?: z.ZodObject;
  query?: z.ZodObject;
  body?: z.ZodType;
  /** Set if the operation records the client that the `X-Outrider-Client` header names. */
  recordsClient?: true;
  /** Raises the body size limit to `limits.bodyWithAttachments`. */
  attachments?: true;
  responses: Record<number, ResponseSpec>;
  /** Errors specific to this operation, in addition to those that every operation can return. */
  errors: readonly ErrorCode[];
  /** Allows this write operation while the installation is in read-only mode. */
  allowedInReadOnly?: true;
  /** The operation for which this route is an alias. */
  aliasOf?: string;
}

export const route = <const R extends Route>(definition: R) => definition;

/** A response of operations that return stored files. */
export const redirectToBucket = {
  description: "The content is large and is in a bucket that sends it itself. The URL is valid for a minute.",
  headers: { Location: "Signed URL of the content. Requests to it must not contain the key." },
} as const;

export const noContent = { 204: { description: "Deleted." } };
