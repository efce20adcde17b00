import type { Error as Problem } from "@outrider/sdk";
import { Complaint, exits } from "./exit.ts";
import { harmless, harmlessJson } from "./terminal/harmless.ts";

/** Errors of the SDK by their shape: to know their classes would load it for `--help`. */
interface StatusError extends Error {
  status: number;
  body: Problem | string;
}

const byStatus: Record<number, number> = {
  401: exits.auth,
  403: exits.auth,
  404: exits.notFound,
  409: exits.failed,
  429: exits.server,
};

const remedies: Record<string, string> = {
  authentication_required: "Log in again with `outrider login`.",
  resource_unavailable: "Try again in a moment.",
};

/** Says what went wrong, and answers what to end with. */
export function tell(error: unknown, { isJson }: { isJson: boolean }): number {
  const problem = problemOf(error);
  const { exit, ...document } = problem;
  if (isJson) process.stderr.write(`${harmlessJson(document)}\n`);
  else process.stderr.write(`${sentences(problem)}\n`);
  return exit;
}

type Told = Partial<Problem> & { message: string; exit: number };

function problemOf(error: unknown): Told {
  if (error instanceof Complaint)
    return { error_code: error.code as Problem["error_code"], message: error.message, exit: error.exit };
  const { name, message } = error as Error;
  if (isStatus(error)) {
    const exit = byStatus[error.status] ?? (error.status >= 500 ? exits.server : exits.usage);
    const said = typeof error.body === "string" ? { status: error.status, message } : error.body;
    return { ...said, message: said.message ?? message, exit };
  }
  if (name === "APIConnectionError" || name === "APITimeoutError") {
    const code = name === "APITimeoutError" ? "timeout" : "connection_failed";
    return {
      error_code: code as Problem["error_code"],
      message: message.includes("NODE_EXTRA_CA_CERTS")
        ? message
        : `${message} Is the address right, and does the server run?`,
      exit: exits.server,
    };
  }
  return { message, exit: name === "OutriderError" ? exits.usage : exits.failed };
}

function isStatus(error: unknown): error is StatusError {
  return error instanceof Error && typeof (error as Partial<StatusError>).status === "number";
}

function sentences({ message, errors = [], error_code, trace_id }: Told): string {
  // What we found out ourselves says it already.
  const remedy = trace_id && error_code && remedies[error_code];
  const lines = [
    `outrider: ${message}${remedy ? ` ${remedy}` : ""}`,
    ...errors
      .filter((each) => !message.includes(each.message))
      .map((each) => `  ${each.pointer}: ${each.message}`),
    ...(trace_id ? [`  trace ${trace_id}`] : []),
  ];
  return harmless(lines.join("\n"));
}
