/** What the process ends with. docs/cli.md says the same. */
export const exits = {
  ok: 0,
  /** The run failed, or what was asked for is not possible as things stand. */
  failed: 1,
  usage: 2,
  auth: 3,
  notFound: 4,
  /** The server was not reached, or could not answer. */
  server: 5,
  waitTimeout: 6,
  cancelled: 7,
  /** The run waits for an answer. */
  blocked: 8,
  interrupted: 130,
} as const;

/** Something that the caller can put right, with the way to do it in its message. */
export class Complaint extends Error {
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
