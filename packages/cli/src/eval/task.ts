import type { CloudEnvironmentRequest } from "@outrider/sdk";

/** A task of an evaluation: a repository, a prompt, and a judge that the agent never sees. */
export interface EvalTask {
  name: string;
  kind: string;
  prompt: string;
  environment: CloudEnvironmentRequest;
  /** The programs that the task needs in the sandbox. */
  programs: string[];
  outputSchema?: Record<string, unknown>;
  maxSteps?: number;
  judge: Judge;
  /** Two known answers, which prove that the judge accepts a right one and rejects a wrong one. */
  scripted: { solution: ScriptedAnswer; wrong: ScriptedAnswer };
}

/** What the scripted model does instead of solving the task. */
export interface ScriptedAnswer {
  script: string;
  /** A patch that the script can apply from `~/attachments/change.patch`. */
  patch?: Buffer;
}

/** Decides after a run whether the task is solved. All conditions that are set must be met. */
export interface Judge {
  /** The folder of the repository in the sandbox. */
  folder: string;
  /** How to turn a clean checkout into what the run left behind. */
  patchContains: "changes" | "whole workspace";
  /** Written over the run's files before the command starts. */
  hiddenFiles: HiddenFile[];
  /** Deleted before the command starts. */
  removedPaths: string[];
  /** Must exit with code 0. */
  command?: string;
  /** Whether the run must leave all files as they are. */
  isUnchanged?: boolean;
  /** The fields that the structured answer must contain. */
  output?: Record<string, unknown>;
  /** Patterns that the final message must match, and must not match. */
  answer?: { matches: RegExp[]; avoids: RegExp[] };
}

export interface HiddenFile {
  path: string;
  content: Buffer;
  isExecutable: boolean;
}

/** The result of one attempt at a task. */
export interface EvalResult {
  task: string;
  kind: string;
  model: string;
  /** The agent program, if the evaluation compares some. */
  harness?: string;
  attempt: number;
  /** With the scripted model: which of the two known answers was judged. */
  scripted?: "solution" | "wrong";
  isSolved: boolean;
  /** Why the task is not solved. */
  reason?: string;
  /** True if the attempt could not be judged, which says nothing about the model. */
  isError: boolean;
  steps: number;
  inputTokens: number;
  outputTokens: number;
  costUsd: number;
  durationMs: number;
  runId?: string;
  judgeRunId?: string;
  judgeOutput?: string;
}

/** Returns whether the evaluation works as it must: a known answer is judged correctly, and no attempt ended with an error. */
export function isAsExpected({ scripted, isSolved, isError }: EvalResult): boolean {
  return !isError && (scripted === undefined || isSolved === (scripted === "solution"));
}
