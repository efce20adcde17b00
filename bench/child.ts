import { type ChildProcess, fork } from "node:child_process";
import { join } from "node:path";

/** Aborted by a signal: ends every process that the bench has started, and with them the bench. */
export const interruption = new AbortController();

type Answer = { answer: unknown } | { failure: string };

/** A part of the bench with a process of its own, so that no side computes on another one's thread. */
export interface Child extends AsyncDisposable {
  ask<T>(question: unknown): Promise<T>;
}

export function startChild(file: string): Child {
  const child = fork(join(import.meta.dirname, file), {
    serialization: "advanced",
    signal: interruption.signal,
  });
  child.on("error", () => {}); // Each reason for it also ends the process, which `ask` reports.
  const exit = exitOf(child).then((): Answer => ({ failure: `${file} has ended.` }));
  return {
    async ask<T>(question: unknown): Promise<T> {
      const message = await Promise.race([exit, answerOf(child, question)]);
      if ("failure" in message) throw new Error(message.failure);
      return message.answer as T;
    },
    [Symbol.asyncDispose]: () => endProcess(child),
  };
}

function answerOf(child: ChildProcess, question: unknown): Promise<Answer> {
  return new Promise((resolve) => {
    child.once("message", (answer) => resolve(answer as Answer));
    child.send(question as object, () => {}); // A child that cannot be asked any more has ended.
  });
}

function exitOf(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => child.once("exit", () => resolve()));
}

/** The other end of `ask`, for the file that became a child. */
export function answerParent<Q>(reply: (question: Q) => Promise<unknown>) {
  process.on("message", async (question: Q) => {
    const message: Answer = await reply(question).then(
      (answer) => ({ answer }),
      (error: Error) => ({ failure: error.stack ?? error.message }),
    );
    process.send?.(message);
  });
  process.on("disconnect", () => process.exit());
}

export async function endProcess(child: ChildProcess) {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const exit = exitOf(child);
  child.kill("SIGTERM");
  await exit;
}
