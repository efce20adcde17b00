/** Exit codes of the CLI. scripts/cli-reference.ts documents them in docs/cli-reference.md. */
export const exits = {
  ok: 0,
  /** The run failed, or the current state does not allow the operation. */
  failed: 1,
  usage: 2,
  auth: 3,
  notFound: 4,
  /** The server was unreachable or returned an error. */
  server: 5,
  waitTimeout: 6,
  cancelled: 7,
  /** The run is waiting for an answer. */
  blocked: 8,
  interrupted: 130,
  /** A shell ended without an exit code. */
  disconnected: 255,
} as const;

/** An error that the user can fix. The message explains how. */
export class UsageError extends Error {
  readonly exit: number;
  readonly code: string;

  constructor(
    message: string,
    { exit = exits.usage, code = "usage" }: { exit?: number; code?: string } = {},
  ) {
    super(message);
    this.exit = exit;
    this.code = code;
  }
}
