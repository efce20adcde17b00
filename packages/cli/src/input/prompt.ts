import { createInterface } from "node:readline/promises";
import { Writable } from "node:stream";
import { exits, UsageError } from "../exit-codes.ts";

/** Returns whether the user can be prompted, which requires stdin to be a terminal. */
export function isInteractive(): boolean {
  return process.stdin.isTTY === true;
}

/** Prompts on stderr, because stdout is for data. With `isHidden`, does not echo the input. */
export async function prompt(question: string, { isHidden = false } = {}): Promise<string> {
  let isMuted = false;
  const output = new Writable({
    write(chunk, _, done) {
      if (!isMuted) process.stderr.write(chunk);
      done();
    },
  });
  const reader = createInterface({ input: process.stdin, output, terminal: true, historySize: 0 });
  try {
    return await new Promise<string>((resolve, reject) => {
      const interrupted = new UsageError("Interrupted.", { exit: exits.interrupted, code: "interrupted" });
      reader.once("SIGINT", () => reject(interrupted));
      reader.once("close", () => reject(interrupted));
      reader.question(question).then(resolve, reject);
      isMuted = isHidden;
    });
  } finally {
    reader.close();
    if (isHidden) process.stderr.write("\n");
  }
}

/** Asks the user to confirm an irreversible action, such as "Delete run X". Scripts pass --yes instead. */
export async function confirm(action: string, { yes }: { yes?: boolean }): Promise<void> {
  if (yes) return;
  if (!isInteractive()) throw new UsageError(`${action}? This cannot be undone. Pass --yes to confirm.`);
  const answer = await prompt(`${action}? This cannot be undone. [y/N] `);
  if (!/^y(es)?$/i.test(answer.trim())) throw new UsageError("Aborted.", { exit: exits.failed });
}
