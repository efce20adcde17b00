import { type ChildProcess, fork } from "node:child_process";
import { basename } from "node:path";

/** Aborts on SIGINT and SIGTERM and stops every process that the benchmark has started. */
export const interruption = new AbortController();

type Answer = { answer: unknown } | { failure: string };

/** A part of a benchmark in its own process, so that both sides do not share a thread. */
export interface Child extends AsyncDisposable {
  ask<T>(question: unknown): Promise<T>;
}

export function startChild(file: URL): Child {
  const child = fork(file, {
    serialization: "advanced",
    signal: interruption.signal,
  });
  child.on("error", () => {}); // `ask` reports the exit of the process.
  const exit = exitOf(child).then((): Answer => ({ failure: `${basename(file.pathname)} exited.` }));
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
    child.send(question as object, () => {}); // Sending fails only after the child has exited.
  });
}

function exitOf(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => child.once("exit", () => resolve()));
}

/** Answers the questions of the parent process. The counterpart of `ask` in the child's file. */
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
