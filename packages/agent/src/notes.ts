import { FINISH } from "./tools/finish.ts";

/**
 * What Outrider itself tells the agent. Models know no third speaker, so a note stands where the user speaks and says
 * so at its beginning. Written and read here, because a model may act on a note as it does on any other text.
 */
export type NoteKind =
  | "interrupted"
  | "wrap up"
  | "failed"
  | "cancelled"
  | "recovered"
  | "compacted"
  | "answer missing";

export interface Note {
  kind: NoteKind;
  /** How many finished tool calls have lost their effect on files. */
  lost: number;
  /** How many tool calls are no longer part of the conversation. */
  gone: number;
}

export type LimitCode = "step_limit_exceeded" | "budget_exceeded" | "timeout";

const limitNames: Record<LimitCode, string> = {
  step_limit_exceeded: "number of steps",
  budget_exceeded: "budget",
  timeout: "time",
};

export function isLimitCode(code: string | undefined): code is LimitCode {
  return code !== undefined && Object.hasOwn(limitNames, code);
}

function note(kind: NoteKind, text: string): string {
  return `[Outrider: ${kind}] ${text}`;
}

export const interruptedNote = note(
  "interrupted",
  "A message of the user interrupted you here. What you were saying was dropped.",
);

export const cancelledNote = note(
  "cancelled",
  "The user cancelled your work here. What was running was stopped; do not take it up again unless asked to.",
);

export function wrapUpNote(code: LimitCode, { mustFinish }: { mustFinish: boolean }): string {
  const last = mustFinish
    ? `You can call no more tools but ${FINISH}: call it now, with the best answer that you have.`
    : "You can call no more tools. Say briefly what you did and what is left to do.";
  return note("wrap up", `This turn has used up its ${limitNames[code]}. ${last}`);
}

export const missingAnswerNote = note(
  "answer missing",
  `Your answer has a form of its own here: words alone do not end your work. Call the tool ${FINISH} with it.`,
);

export function compactedNote({
  summary,
  plan,
  gone,
}: {
  summary: string;
  plan: string;
  gone: number;
}): string {
  const parts = [
    `The conversation had grown too long for you to read. What came before this, ${gone} tool calls of yours included, \
is replaced by the user's messages above and by these notes that you wrote for yourself:`,
    summary,
    plan === "" ? "" : `Your plan, as it stands:\n${plan}`,
    "What came last follows as it was. Go on from there.",
  ];
  return note("compacted", parts.filter((part) => part !== "").join("\n\n"));
}

export function failedNote(message: string): string {
  return note("failed", `Your work ended here with an error: ${message}`);
}

export function recoveredNote(reason: string, lost: number): string {
  const files =
    lost === 0
      ? ""
      : ` Files are as they stood some time ago: what your last ${lost} finished tool calls changed in files is lost.`;
  return note("recovered", `Your work was cut off here and goes on now: ${reason}${files}`);
}

export function readNote(text: string): Note | undefined {
  const kind = /^\[Outrider: ([a-z ]+)\]/.exec(text)?.[1];
  if (kind === undefined) return undefined;
  const count = (pattern: RegExp) => Number(pattern.exec(text)?.[1] ?? 0);
  return {
    kind: kind as NoteKind,
    lost: count(/your last (\d+) finished tool calls/),
    gone: count(/before this, (\d+) tool calls of yours/),
  };
}
