/**
 * What Outrider itself tells the agent. Models know no third speaker, so a note stands where the user speaks and says
 * so at its beginning. Written and read here, because a model may act on a note as it does on any other text.
 */
export type NoteKind = "interrupted" | "wrap up" | "failed" | "cancelled" | "recovered";

export interface Note {
  kind: NoteKind;
  /** How many finished tool calls have lost their effect on files. */
  lost: number;
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

export function wrapUpNote(code: LimitCode): string {
  return note(
    "wrap up",
    `This turn has used up its ${limitNames[code]}. You can call no more tools. Say briefly what you did and what is left to do.`,
  );
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
  return { kind: kind as NoteKind, lost: Number(/your last (\d+) finished tool calls/.exec(text)?.[1] ?? 0) };
}
