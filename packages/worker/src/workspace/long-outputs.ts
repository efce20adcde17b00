import { createReadStream } from "node:fs";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { RunEvent } from "@outrider/contract/event";
import { quote } from "../quote.ts";
import { sandboxPaths } from "../sandboxes/paths.ts";
import type { Sandbox } from "../sandboxes/sandbox.ts";
import type { StoredFile } from "./command-output-file.ts";

const FOLDER = `${sandboxPaths.tmp}/outrider`;
/** Protects the sandbox's disk. The artifact can be larger. */
const MAX_BYTES = 32 * 1024 * 1024;
const COPY_MS = 60_000;
const MAX_LOST = 1_000;

const pathOf = (number: number) => `${FOLDER}/output-${number}.log`;

const LOST =
  "The output in this file was lost, because the run continued in another sandbox. Run the command again if you need it.\n";

interface CopyOptions {
  sandbox: Pick<Sandbox, "spawn">;
  signal: AbortSignal;
  maxBytes?: number;
}

/**
 * Files in the sandbox with the outputs that are too long for the conversation, so that the agent can read and search
 * them. They are redacted, like the artifacts with the same content. They are in /tmp, so they exist as long as the
 * sandbox does; in a run's next sandbox, they say that the output was lost.
 */
export class LongOutputs {
  #lastNumber = 0;
  #earlier: number[] = [];

  /** Continues the numbers of earlier turns and attempts, because the conversation still names their files. Call once. */
  countHistory(history: readonly RunEvent[]) {
    for (const { type, data } of history) {
      const [, number] =
        type === "command.finished" ? (/-(\d+)\.log$/.exec(data.output_path ?? "") ?? []) : [];
      if (number !== undefined) this.#earlier.push(Number(number));
    }
    this.#lastNumber = Math.max(0, ...this.#earlier);
  }

  /** Copies an output to the sandbox and returns its path. Returns undefined if that fails, as with a full disk. */
  async copy({ path, size_bytes }: StoredFile, options: CopyOptions): Promise<string | undefined> {
    const { maxBytes = MAX_BYTES } = options;
    this.#lastNumber += 1;
    const target = pathOf(this.#lastNumber);
    const content = createReadStream(path, { end: maxBytes - 1 });
    const isCut = size_bytes > maxBytes;
    const note = isCut
      ? `\n[outrider: the output continues; this file has its first ${maxBytes} bytes]\n`
      : "";
    const script = `mkdir -p ${FOLDER} && rm -rf ${target} && { cat; printf %s ${quote(note)}; } > ${target}`;
    const isCopied = await runWithInput(script, content, options).catch(() => false);
    return isCopied ? target : undefined;
  }

  /** Creates the files of earlier sandboxes in a new one. */
  async markLost(sandbox: Pick<Sandbox, "spawn">, signal: AbortSignal): Promise<void> {
    if (this.#earlier.length === 0) return;
    const paths = this.#earlier.slice(-MAX_LOST).map(pathOf).join(" ");
    const script = `mkdir -p ${FOLDER} && tee ${paths} > /dev/null`;
    await runWithInput(script, Readable.from([LOST]), { sandbox, signal }).catch(() => false);
  }
}

async function runWithInput(
  script: string,
  input: Readable,
  { sandbox, signal }: CopyOptions,
): Promise<boolean> {
  const timeout = AbortSignal.any([signal, AbortSignal.timeout(COPY_MS)]);
  const process = await sandbox.spawn(script, { signal: timeout });
  process.stdout.resume();
  process.stderr.resume();
  // If the script fails, it stops reading, and the exit code says so.
  const [{ exitCode }] = await Promise.all([process.ended, pipeline(input, process.stdin).catch(() => {})]);
  return exitCode === 0;
}
