import { APIConnectionError, APIStatusError, APITimeoutError } from "@outrider/sdk";
import { describe, expect, test } from "vitest";
import { describeError } from "../src/request-error.ts";

type Problem = Exclude<APIStatusError["body"], string>;

/** Creates the error that the SDK throws for a response. */
function failure(status: number, problem: Partial<Problem> | string, headers = {}): APIStatusError {
  const body = typeof problem === "string" ? problem : { status, trace_id: "4bf92f3577b34da6", ...problem };
  return new APIStatusError(status, new Headers(headers), body as Problem | string);
}

describe("the text of an error", () => {
  test.each([
    [
      failure(401, { error_code: "authentication_required", detail: "Send `Authorization: Bearer KEY`." }),
      "You are signed out",
      "Your session has ended. Sign in again to continue.",
    ],
    [
      failure(403, { error_code: "not_authorized", detail: "This requires an admin." }),
      "You don't have permission to do this",
      "Only an admin can do this. Ask one to do it, or to make you an admin.",
    ],
    [
      failure(403, { detail: "Cross-site request rejected: it … Programs must use an API key." }),
      "You don't have permission to do this",
      "This page was opened at an address that the server does not know. Open the server's own address and try again.",
    ],
    [
      failure(409, { error_code: "conflict", detail: "The last admin cannot be removed." }),
      "This action is not possible right now",
      "The last admin cannot be removed.",
    ],
    [
      failure(422, { error_code: "operation_not_supported", detail: "Forges are not configured." }),
      "This server cannot do this",
      "Forges are not configured.",
    ],
    [
      failure(400, {
        error_code: "invalid_request",
        detail: "`/config/name` must be shorter (and 1 more).",
        errors: [
          { pointer: "/config/name", message: "must be shorter" },
          { pointer: "", message: "must be an object" },
        ],
      }),
      "The server did not accept this request",
      "`config.name` must be shorter. The request must be an object.",
    ],
    [
      failure(429, { detail: "More than 60 requests per minute. Retry in 12 s." }, { "retry-after": "12" }),
      "Too many requests",
      "More than 60 requests per minute. Try again in 12 seconds.",
    ],
    [
      failure(429, { detail: "Too many sign-in attempts." }, { "retry-after": "61" }),
      "Too many requests",
      "Too many sign-in attempts. Try again in 2 minutes.",
    ],
    [
      failure(502, "<html>Bad Gateway</html>"),
      "Something went wrong on the server",
      "The server returned an unexpected response. Try again in a moment.",
    ],
    [
      failure(503, { error_code: "resource_unavailable", detail: "The database is not responding." }),
      "Temporarily unavailable",
      "The database is not responding.",
    ],
    [
      new APIConnectionError("fetch failed: ECONNREFUSED"),
      "Could not reach the server",
      "Check your connection and that the server is running.",
    ],
    [
      new APITimeoutError("timeout"),
      "The server did not respond in time",
      "It may be busy. Try again in a moment.",
    ],
    [
      new TypeError("undefined is not a function"),
      "Something went wrong on this page",
      "Reload the page and try again. If it happens again, report it to your admin.",
    ],
    [new Error("Choose a file."), "Something went wrong on this page", "Choose a file."],
  ])("%s", (error, title, detail) => {
    const text = describeError(error);
    expect(text).toMatchObject({ title, detail });
    expect(text.traceId).toBeUndefined();
    expect(`${text.title} ${text.detail}`).not.toMatch(/\b[45]\d\d\b|[a-z]_[a-z]+:|Bearer/);
  });

  test("contains the trace ID only for an error of the server itself", () => {
    const text = describeError(failure(500, { detail: "An unexpected error occurred." }));
    expect(text).toEqual({
      title: "Something went wrong on the server",
      detail: "Try again. If it happens again, give your admin the trace ID.",
      traceId: "4bf92f3577b34da6",
    });
  });
});
