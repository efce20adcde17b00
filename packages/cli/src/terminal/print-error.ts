import type { Error as Problem } from "@outrider/sdk";
import { exits, UsageError } from "../exit-codes.ts";
import { sanitize, sanitizeJson } from "./sanitize.ts";
import { describeSystemError } from "./system-errors.ts";

/** An HTTP error from the SDK, recognized by its shape. Importing the class would load the SDK even for `--help`. */
interface StatusError extends Error {
  status: number;
  body: Problem | string;
}

const exitByStatus: Record<number, number> = {
  401: exits.auth,
  403: exits.auth,
  404: exits.notFound,
  409: exits.failed,
  429: exits.server,
};

const remedies: Record<string, string> = {
  authentication_required: "Run `outrider login` to log in again.",
  resource_unavailable: "Try again in a moment.",
};

/** Prints an error to stderr and returns the exit code. */
export function printError(error: unknown, { isJson }: { isJson: boolean }): number {
  const problem = describeError(error);
  const { exit, ...document } = problem;
  if (isJson) process.stderr.write(`${sanitizeJson(document)}\n`);
  else process.stderr.write(`${formatError(problem)}\n`);
  return exit;
}

type ErrorDetails = Partial<Problem> & { message: string; exit: number };

function describeError(error: unknown): ErrorDetails {
  if (error instanceof UsageError)
    return { error_code: error.code as Problem["error_code"], message: error.message, exit: error.exit };
  const { name, message } = error as Error;
  if (isStatus(error)) {
    const exit = exitByStatus[error.status] ?? (error.status >= 500 ? exits.server : exits.usage);
    const details = typeof error.body === "string" ? { status: error.status, message } : error.body;
    return { ...details, message: details.message ?? message, exit };
  }
  if (name === "APIConnectionError" || name === "APITimeoutError") {
    const code = name === "APITimeoutError" ? "timeout" : "connection_failed";
    return {
      error_code: code as Problem["error_code"],
      message: connectionMessage(error as Error),
      exit: exits.server,
    };
  }
  return { message, exit: name === "OutriderError" ? exits.usage : exits.failed };
}

/** The SDK's message ends with the system's error, which is unclear to users. Its advice on certificates is clear. */
function connectionMessage(error: Error): string {
  const { message } = error;
  if (message.includes("NODE_EXTRA_CA_CERTS")) return message;
  const reason = describeSystemError(error);
  const [subject] = message.split(": ");
  const sentence = reason ? `${subject}: ${reason}.` : message.replace(/[^.]$/, "$&.");
  return `${sentence} Check the server URL and that the server is running.`;
}

function isStatus(error: unknown): error is StatusError {
  return error instanceof Error && typeof (error as Partial<StatusError>).status === "number";
}

function formatError({ message, errors = [], error_code, trace_id }: ErrorDetails): string {
  // Errors from the CLI itself already say what to do. Only errors from the server have a trace ID.
  const remedy = trace_id && error_code && remedies[error_code];
  const lines = [
    `outrider: ${message}${remedy ? ` ${remedy}` : ""}`,
    ...errors
      .filter((field) => !message.includes(field.message))
      .map((field) => `  ${field.pointer}: ${field.message}`),
    ...(trace_id ? [`  trace ${trace_id}`] : []),
  ];
  return sanitize(lines.join("\n"));
}
