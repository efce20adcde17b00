import { once } from "node:events";
import type { Outrider, ShellEvent } from "@outrider/sdk";
import { exits, UsageError } from "../exit-codes.ts";
import type { Output } from "../terminal/output.ts";
import { sanitize, sanitizeLine } from "../terminal/sanitize.ts";
import { Status } from "../terminal/status.ts";
import { EscapeSequence } from "./escape-sequence.ts";
import { RawTerminal, terminalSize } from "./raw-terminal.ts";
import { ShellInput } from "./shell-input.ts";

/** How long the CLI waits for the server to close the shell when it is interrupted. */
const CLOSE_MS = 5_000;

interface ShellSessionOptions {
  client: Outrider;
  out: Output;
  environment: string;
  /** Formats the steps that prepare the sandbox. */
  formatStep(event: Extract<ShellEvent, { type: "step" }>): string;
}

/** Connects the terminal, or stdin and stdout, with a shell in an environment's sandbox. */
export class ShellSession {
  readonly #options: ShellSessionOptions;
  readonly #hasTerminal = process.stdin.isTTY === true && process.stdout.isTTY === true;
  readonly #terminal = new RawTerminal();
  readonly #escape = new EscapeSequence();
  readonly #status: Status;
  #isOpen = false;

  constructor(options: ShellSessionOptions) {
    this.#options = options;
    this.#status = new Status(options.out);
  }

  /** Returns the exit code for the CLI. */
  async run(): Promise<number> {
    const { client, environment, out } = this.#options;
    const terminal = this.#hasTerminal ? { terminal: terminalSize() } : {};
    const { shell_id: shell } = await client.shells.create(environment, terminal);
    const stream = client.shells.stream(environment, shell);
    let rejection: unknown;
    const input = new ShellInput({
      ...{ client, environment, shell },
      onDrain: () => process.stdin.resume(),
      onRejected: (error) => {
        // After the shell has ended, the stream says why.
        if ((error as { status?: number }).status === 409) return;
        rejection = error;
        stream.close();
      },
    });
    let interruptedBy: NodeJS.Signals | "~." | undefined;
    const interrupt = (by: NodeJS.Signals | "~.") => {
      interruptedBy ??= by;
      stream.close();
    };
    const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
    for (const signal of signals) process.on(signal, interrupt);
    const resize = () => input.resize(terminalSize());
    const read = (bytes: Buffer) => this.#read(bytes, input, () => interrupt("~."));
    const end = () => input.end();
    const hangUp = () => interrupt("SIGHUP");
    let ending: Extract<ShellEvent, { type: "closed" }> | undefined;
    try {
      if (out.isLive) this.#status.show("Waiting for a worker…");
      else out.note("Waiting for a worker…");
      for await (const event of stream) {
        if (event.type === "closed") ending = event;
        else await this.#show(event, input);
        if (event.type !== "opened") continue;
        this.#isOpen = true;
        if (this.#hasTerminal) this.#terminal.start();
        process.stdin.on("data", read).on("end", end).on("error", hangUp);
        if (this.#hasTerminal) process.stdout.on("resize", resize);
      }
    } catch (error) {
      rejection ??= error;
    } finally {
      this.#status.stop();
      input.stop();
      process.stdin.off("data", read).off("end", end).pause();
      process.stdout.off("resize", resize);
      this.#terminal.restore({ isInterrupted: ending?.data.exit_code === undefined });
      for (const signal of signals) process.off(signal, interrupt);
      // Otherwise an open pipe would keep this process alive.
      process.stdin.unref?.();
    }
    // Closes the shell, or deletes the events of a closed one, which have all been shown.
    await client.shells.delete(environment, shell, { timeout: CLOSE_MS, maxRetries: 0 }).catch(() => {});
    if (ending) return this.#report(ending.data);
    if (interruptedBy === undefined) throw disconnected(rejection);
    out.note("The shell is closed.");
    return interruptedBy === "SIGINT" ? exits.interrupted : exits.disconnected;
  }

  #read(bytes: Buffer, input: ShellInput, disconnect: () => void) {
    const typed = this.#hasTerminal ? this.#escape.read(bytes) : { bytes, isDisconnect: false };
    if (typed.bytes.length > 0 && !input.write(typed.bytes)) process.stdin.pause();
    if (typed.isDisconnect) disconnect();
  }

  async #show(event: Exclude<ShellEvent, { type: "closed" }>, input: ShellInput): Promise<void> {
    const { out, formatStep } = this.#options;
    this.#status.clear();
    if (event.type === "output") {
      const bytes = Buffer.from(event.data.data, "base64");
      // The output of steps is not data of the shell.
      const target = this.#isOpen && event.data.stream === "stdout" ? process.stdout : process.stderr;
      const shown = this.#isOpen ? bytes : out.errorStyle.dim(sanitize(bytes.toString()));
      if (!out.isQuiet || this.#isOpen) if (!target.write(shown)) await once(target, "drain");
      input.confirm(event.seq, bytes.length);
      return;
    }
    if (event.type === "step") {
      this.#status.show(sanitizeLine(event.data.name));
      if (!out.isQuiet) process.stderr.write(formatStep(event));
    } else if (event.type === "notice")
      this.#note(`${out.errorStyle.yellow("!")} ${sanitize(event.data.message)}`);
    else if (event.type === "opened") {
      this.#status.stop();
      const { failed_step } = event.data;
      if (failed_step !== undefined)
        this.#note(
          `\`${sanitizeLine(failed_step)}\` fails. This shell is in its place, with the same folder, variables and user.`,
        );
      if (this.#hasTerminal)
        this.#note("Nothing that you do here is stored. Type exit to leave, or Enter ~ . to disconnect.");
    }
    input.confirm(event.seq, 0);
  }

  #note(text: string) {
    // In raw mode, a line feed does not return to the first column.
    const isRaw = this.#isOpen && this.#hasTerminal;
    this.#options.out.note(isRaw ? `\r${text.replaceAll("\n", "\r\n")}\r` : text);
  }

  #report({ exit_code, message }: Extract<ShellEvent, { type: "closed" }>["data"]): number {
    if (message) this.#options.out.note(sanitize(message));
    return exit_code ?? exits.disconnected;
  }
}

function disconnected(reason: unknown): Error {
  const { message = "The stream ended." } = (reason ?? {}) as { message?: string };
  return new UsageError(`The connection to the shell is lost: ${message}`, {
    ...{ exit: exits.disconnected, code: "disconnected" },
  });
}
