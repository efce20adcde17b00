import type { Readable } from "node:stream";
import type { ProbeOptions, ProbeResult } from "@outrider/agent/workspace";
import { quote } from "../quote.ts";
import { createTextRedactor, type Redactor } from "../redaction/redact.ts";
import type { Sandbox } from "../sandboxes/sandbox.ts";

const PROBE_MS = 60_000;
const STDERR_CHARACTERS = 2_000;

/** Runs one of the worker's read-only scripts, without the run's variables and secrets in its environment. */
export async function probe(
  sandbox: Sandbox,
  { script, args, limit, signal, redactor }: ProbeOptions & { script: string; redactor: Redactor },
): Promise<ProbeResult> {
  const timeout = AbortSignal.any([signal, AbortSignal.timeout(PROBE_MS)]);
  const process = await sandbox.spawn(`set -- ${args.map(quote).join(" ")}\n${script}`, { signal: timeout });
  process.stdin.on("error", () => {});
  process.stdin.end();
  const output: Buffer[] = [];
  let size = 0;
  const readOutput = async () => {
    for await (const chunk of process.stdout as AsyncIterable<Buffer>) {
      output.push(chunk.subarray(0, limit - size));
      size += chunk.length;
      // The output may be endless, and the rest is not needed.
      if (size > limit) break;
    }
    if (size > limit) await process.kill();
  };
  const [stderr, { exitCode }] = await Promise.all([
    readErrors(process.stderr, redactor),
    process.ended,
    readOutput(),
  ]);
  return {
    exit_code: exitCode,
    output: Buffer.concat(output),
    is_truncated: size > limit,
    stderr,
  };
}

/** Reads stderr to its end and returns its beginning. Removes secrets first, because a part of one is not recognized. */
async function readErrors(stream: Readable, redactor: Redactor): Promise<string> {
  const redacted = createTextRedactor(redactor);
  let text = "";
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    text = (text + redacted.push(chunk)).slice(0, STDERR_CHARACTERS);
  }
  return (text + redacted.end()).slice(0, STDERR_CHARACTERS);
}
