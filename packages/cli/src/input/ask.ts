import { createInterface } from "node:readline/promises";
import { Writable } from "node:stream";
import { Complaint, exits } from "../exit.ts";

/** Whether there is somebody to ask. */
export function canAsk(): boolean {
  return process.stdin.isTTY === true;
}

/** Asks on stderr, so that stdout stays data. What is typed in answer to a hidden question is not shown. */
export async function ask(question: string, { isHidden = false } = {}): Promise<string> {
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
      const interrupted = new Complaint("Interrupted.", { exit: exits.interrupted, code: "interrupted" });
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

/** For what cannot be undone. Programs say --yes. */
export async function confirm(what: string, { yes }: { yes?: boolean }): Promise<void> {
  if (yes) return;
  if (!canAsk()) throw new Complaint(`${what} cannot be undone: say --yes to do it.`);
  const answer = await ask(`${what}? This cannot be undone. [y/N] `);
  if (!/^y(es)?$/i.test(answer.trim())) throw new Complaint("Nothing was done.", { exit: exits.failed });
}
