import { z } from "zod";
import { buildStep } from "./build.ts";
import { PageInfo } from "./run.ts";
import { Timestamp, Uuid } from "./text.ts";

/**
 * A shell is a terminal in the sandbox of an environment, for the user who maintains the environment. Its data is
 * temporary: the events and the input are deleted as soon as the other side has received them.
 */

const MINUTE = 60_000;

/** The limits of shells. Times are in milliseconds, sizes in bytes. */
export const shellLimits = {
  /** A shell without input and output ends after this time. */
  idleMs: 15 * MINUTE,
  /** A shell ends this long after it has opened. A shell that has not opened ends this long after its creation. */
  openMs: 60 * MINUTE,
  /** A shell ends if its client sends no request for this time. */
  clientMs: MINUTE,
  /** The size of one piece of input or output. */
  piece: 32 * 1024,
  /** How many pieces of input may wait for the worker. */
  waitingInput: 32,
  /** How much output may wait for the client. The shell's programs block while there is more. */
  waitingOutput: { events: 64, bytes: 256 * 1024 },
} as const;

export const TerminalSize = z
  .strictObject({ rows: z.int().min(1).max(1_000), columns: z.int().min(1).max(1_000) })
  .meta({ id: "TerminalSize", description: "The size of a terminal, in characters." });
export type TerminalSize = z.infer<typeof TerminalSize>;

export const ShellRequest = z
  .strictObject({
    terminal: TerminalSize.optional().meta({
      description:
        "The size of the terminal. Without it, the shell reads commands from its input and has no terminal.",
    }),
  })
  .meta({ id: "ShellRequest" });
export type ShellRequest = z.infer<typeof ShellRequest>;

export const ShellState = z.enum(["QUEUED", "OPENING", "OPEN", "CLOSED"]).meta({
  id: "ShellState",
  description:
    "`QUEUED`: waiting for a worker. `OPENING`: the worker prepares the sandbox. `OPEN`: the shell accepts input. `CLOSED`: the shell has ended.",
});
export type ShellState = z.infer<typeof ShellState>;

const ending = {
  exit_code: z
    .int()
    .optional()
    .meta({ description: "Exit code of the shell. Absent if it was ended from outside." }),
  message: z.string().optional().meta({ description: "Why the shell was ended from outside." }),
};

export const Shell = z
  .object({
    shell_id: Uuid,
    environment_id: Uuid,
    state: ShellState,
    created_at: Timestamp,
    opened_at: Timestamp.optional(),
    closed_at: Timestamp.optional(),
    ...ending,
  })
  .meta({ id: "Shell", description: "A terminal in the sandbox of an environment." });
export type Shell = z.infer<typeof Shell>;

const base64 = z
  .string()
  .max(Math.ceil(shellLimits.piece / 3) * 4)
  .regex(/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/, "must be base64");

const data = {
  step: buildStep,
  notice: z.object({ message: z.string() }),
  output: z.object({
    stream: z
      .enum(["stdout", "stderr"])
      .meta({ description: "`stdout` for everything that a terminal shows." }),
    data: base64.meta({ description: "Bytes, in base64." }),
  }),
  opened: z.object({
    failed_step: z
      .string()
      .optional()
      .meta({ description: "The step at which the build fails. Absent if no step fails." }),
  }),
  closed: z.object(ending),
};

/** An event that the server has not numbered yet. The server itself adds the event `closed`. */
export const NewShellEvent = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("step"), data: data.step }),
  z.strictObject({ type: z.literal("notice"), data: data.notice }),
  z.strictObject({ type: z.literal("output"), data: data.output }),
  z.strictObject({ type: z.literal("opened"), data: data.opened }),
]);
export type NewShellEvent = z.infer<typeof NewShellEvent>;

const envelope = {
  seq: z.int().min(1).meta({ description: "Sequence number. Starts at 1, without gaps." }),
};

export const ShellEvent = z
  .discriminatedUnion("type", [
    z.object({ ...envelope, type: z.literal("step"), data: data.step }).meta({ id: "ShellStepEvent" }),
    z.object({ ...envelope, type: z.literal("notice"), data: data.notice }).meta({ id: "ShellNoticeEvent" }),
    z.object({ ...envelope, type: z.literal("output"), data: data.output }).meta({ id: "ShellOutputEvent" }),
    z.object({ ...envelope, type: z.literal("opened"), data: data.opened }).meta({ id: "ShellOpenedEvent" }),
    z.object({ ...envelope, type: z.literal("closed"), data: data.closed }).meta({ id: "ShellClosedEvent" }),
  ])
  .meta({
    id: "ShellEvent",
    description:
      "What happens in a shell: the steps that prepare its sandbox, `opened`, its output, and finally `closed`.",
  });
export type ShellEvent = z.infer<typeof ShellEvent>;

export const ListShellEventsResponse = z.object({ events: z.array(ShellEvent), page_info: PageInfo }).meta({
  id: "ListShellEventsResponse",
  description: "Pass `next_cursor` as `after` to get the next page.",
});

/** A numbered piece of input. */
const piece = {
  seq: z.int().min(1).max(1_000_000_000),
  data: base64.optional().meta({ description: "Bytes for the shell's input, in base64. At most 32 KiB." }),
  terminal: TerminalSize.optional().meta({ description: "The new size of the terminal." }),
  ends_input: z
    .literal(true)
    .optional()
    .meta({ description: "No more input follows. Used without a terminal." }),
};

export const ShellInput = z
  .strictObject({
    ...piece,
    seq: piece.seq.optional().meta({
      description:
        "Number of this piece of input, starting at 1, without gaps. A repeated number has no effect. Required for `data`, `terminal` and `ends_input`.",
    }),
    received: z.int().min(0).max(1_000_000_000).optional().meta({
      description:
        "`seq` of the last event that the client has received. The events up to it are deleted. While many events are not confirmed, the shell's programs wait.",
    }),
  })
  .refine(
    ({ seq, data, terminal, ends_input }) =>
      seq !== undefined || (data ?? terminal ?? ends_input) === undefined,
    { error: "is required for input", path: ["seq"] },
  )
  .meta({ id: "ShellInput" });
export type ShellInput = z.infer<typeof ShellInput>;

export const ShellInputPiece = z.strictObject(piece);
export type ShellInputPiece = z.infer<typeof ShellInputPiece>;
