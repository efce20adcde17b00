import { FINISH } from "../tools/finish.ts";

/**
 * Notes from Outrider to the agent. Model APIs have no role for a third party, so a note is sent as a user message that
 * starts with `[Outrider: kind]`. This module both writes and parses notes, because the scripted model reacts to them.
 */
export type NoteKind =
  | "interrupted"
  | "wrap up"
  | "failed"
  | "cancelled"
  | "recovered"
  | "compacted"
  | "handover"
  | "answer format"
  | "new message"
  | "answer missing"
  | "repeated calls"
  | "answer empty"
  | "answer cut"
  | "call cut"
  | "call malformed";

export interface Note {
  kind: NoteKind;
  /** The number of finished tool calls whose file changes were lost. */
  lostCalls: number;
  /** The number of tool calls that compaction removed from the conversation. */
  removedCalls: number;
}

export type LimitCode = "step_limit_exceeded" | "budget_exceeded" | "timeout";

const limitNames: Record<LimitCode, string> = {
  step_limit_exceeded: "step limit",
  budget_exceeded: "budget limit",
  timeout: "time limit",
};

/** The messages of the notices that report a limit. */
export const limitMessages: Record<LimitCode, string> = {
  step_limit_exceeded: "The turn reached its step limit. The agent was asked to wrap up.",
  budget_exceeded: "The turn reached its budget. The agent was asked to wrap up.",
  timeout: "The turn reached its time limit. The agent was asked to wrap up.",
};

/** The message of the notice that reports an interruption. */
export const INTERRUPTED_MESSAGE = "A user message interrupted the agent during a model call.";

export function isLimitCode(code: string | undefined): code is LimitCode {
  return code !== undefined && Object.hasOwn(limitNames, code);
}

function note(kind: NoteKind, text: string): string {
  return `[Outrider: ${kind}] ${text}`;
}

export const interruptedNote = note(
  "interrupted",
  "A user message interrupted you here. The response that you were writing was discarded.",
);

export const newMessageNote = note(
  "new message",
  "The user has sent a message while you were working. Take it into account and continue your work.",
);

export const cancelledNote = note(
  "cancelled",
  "The user cancelled your work here. Everything that was running was stopped. Do not resume it unless asked to.",
);

export function wrapUpNote(code: LimitCode, { mustFinish }: { mustFinish: boolean }): string {
  const instruction = mustFinish
    ? `The only tool you can still call is ${FINISH}. Call it now with the best answer that you have.`
    : "You can call no more tools. Summarize briefly what you did and what is left to do.";
  return note("wrap up", `This turn has reached its ${limitNames[code]}. ${instruction}`);
}

export const missingAnswerNote = note(
  "answer missing",
  `This run requires a structured answer; a text message does not end your work. Call the tool ${FINISH} with your answer.`,
);

/** The notice code for an agent that repeats the same calls; see loop-detector.ts. */
export const LOOP_DETECTED = "loop_detected";

export const repeatedCallsNote = note(
  "repeated calls",
  `You keep making the same calls and get the same results. Do something else: read the result closely, check your \
assumptions, or take another approach. If you are waiting for something, wait longer in one command. If you are stuck, say \
so in your final message. If you continue like this, your turn ends.`,
);

/** The notice codes for a response that could not be used as it was. The note asks the agent to complete or repeat it. */
export type ResponseProblem = "answer_empty" | "answer_continued" | "call_cut" | "call_malformed";

export const problemNotes: Record<ResponseProblem, string> = {
  answer_empty: note(
    "answer empty",
    "Your last response had neither text nor a complete tool call. Call a tool to continue your work, in smaller pieces if its input is long, or write your answer.",
  ),
  answer_continued: note(
    "answer cut",
    "Your text was cut off at the output limit. Continue exactly where it ends, without repeating anything.",
  ),
  call_cut: note(
    "call cut",
    "Your last tool call was cut off at the output limit and was not run. Write in smaller pieces, for example a file in several parts.",
  ),
  call_malformed: note(
    "call malformed",
    "Your last tool call could not be parsed and was not run. Repeat it with valid JSON, in smaller pieces if it is long.",
  ),
};

export function isResponseProblem(code: string | undefined): code is ResponseProblem {
  return code !== undefined && Object.hasOwn(problemNotes, code);
}

export function compactedNote({
  summary,
  plan,
  removedCalls,
}: {
  summary: string;
  plan: string;
  removedCalls: number;
}): string {
  const parts = [
    `The conversation became too long for your context. Everything before this, including ${removedCalls} tool calls of \
yours, was replaced by the user's messages above and by these notes, which you wrote for yourself:`,
    summary,
    plan === "" ? "" : `Your current plan:\n${plan}`,
    "The most recent part of the conversation follows unchanged. Continue from there.",
  ];
  return note("compacted", parts.filter((part) => part !== "").join("\n\n"));
}

/** Replaces the earlier conversation of an agent whose session is lost. The user's messages precede it. */
export function handoverNote({
  summary,
  finishedCalls,
  lostCalls,
}: {
  summary: string;
  finishedCalls: number;
  lostCalls: number;
}): string {
  const lost =
    lostCalls === 0
      ? ""
      : `The files were restored from an earlier snapshot: the file changes of the last ${lostCalls} finished tool calls are lost.`;
  const parts = [
    `Your earlier session is lost. Everything before this, including ${finishedCalls} tool calls of yours, was replaced by \
the user's messages above and by this summary of the log:`,
    summary,
    lost,
    "Check the state of the files before you rely on the summary, and continue the work.",
  ];
  return note("handover", parts.filter((part) => part !== "").join("\n\n"));
}

/** Asks an agent without the tool `finish` for a structured answer. */
export function answerFormatNote(schema: Record<string, unknown>): string {
  return note(
    "answer format",
    `This run requires a structured answer. When everything is done and verified, end with a message that is only a JSON \
value, without other text, that matches this JSON Schema:\n${JSON.stringify(schema)}`,
  );
}

export function invalidMessageNote(problem: string): string {
  return note(
    "answer missing",
    `Your last message is not the required answer: ${problem} Send only the JSON value that matches the schema.`,
  );
}

export function wrapUpMessageNote(code: LimitCode): string {
  return note(
    "wrap up",
    `This turn has reached its ${limitNames[code]}. You can call no more tools. Send the best answer that you have now, only \
as the JSON value that matches the schema.`,
  );
}

export function failedNote(message: string): string {
  return note("failed", `Your work ended here with an error: ${message}`);
}

export function recoveredNote(reason: string, lostCalls: number): string {
  const files =
    lostCalls === 0
      ? ""
      : ` The files were restored from an earlier snapshot: the file changes of your last ${lostCalls} finished tool calls are lost.`;
  return note("recovered", `Your work was interrupted here and now continues: ${reason}${files}`);
}

export function parseNote(text: string): Note | undefined {
  const kind = /^\[Outrider: ([a-z ]+)\]/.exec(text)?.[1];
  if (kind === undefined) return undefined;
  const count = (pattern: RegExp) => Number(pattern.exec(text)?.[1] ?? 0);
  return {
    kind: kind as NoteKind,
    lostCalls: count(/your last (\d+) finished tool calls/),
    removedCalls: count(/before this, including (\d+) tool calls of yours/),
  };
}
