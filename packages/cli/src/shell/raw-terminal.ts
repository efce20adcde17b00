import { spawnSync } from "node:child_process";

/** Leaves the alternate screen, shows the cursor, and ends mouse reports, bracketed paste and colors. */
const RESET = "\x1b[?1049l\x1b[?25h\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?2004l\x1b[0m\r\n";

/** The user's terminal in raw mode, in which every key goes to the shell. It is restored even if the CLI crashes. */
export class RawTerminal {
  #isRaw = false;
  readonly #restore = () => this.restore();

  start() {
    this.#isRaw = true;
    process.stdin.setRawMode(true);
    // Node's raw mode still adds a carriage return to each line feed, which programs use to move the cursor down.
    spawnSync("stty", ["-onlcr"], { stdio: ["inherit", "ignore", "ignore"] });
    process.once("exit", this.#restore);
  }

  /** With `isInterrupted`, also undoes what a program in the shell may have set. */
  restore({ isInterrupted = false } = {}) {
    process.off("exit", this.#restore);
    if (!this.#isRaw) return;
    this.#isRaw = false;
    try {
      process.stdin.setRawMode(false);
    } catch {
      return; // The terminal was closed.
    }
    if (isInterrupted) process.stdout.write(RESET);
  }
}

/** Returns the size of the terminal. */
export function terminalSize(): { rows: number; columns: number } {
  const limit = (size: number | undefined, fallback: number) => Math.min(1_000, size || fallback);
  return { rows: limit(process.stdout.rows, 24), columns: limit(process.stdout.columns, 80) };
}
