import { randomBytes } from "node:crypto";
import { Redactor } from "../../packages/worker/src/redaction/redact.ts";
import { generateTranscript } from "../steps/transcript.ts";
import { type BenchResult, compare } from "../support/compare.ts";

const CHUNK_BYTES = 64 * 1024;
const TEXT_BYTES = 2 * 1024 * 1024;
const EVENT_BYTES = 100;
/** The allowed slowdown from 1 to 1,000 secrets. Shallow states of the automaton have more children. */
const MAX_SLOWDOWN = 2;
/** The allowed slowdown for text that keeps every view busy, such as nothing but escape sequences. */
const MAX_HOSTILE_SLOWDOWN = 8;
/** The allowed slowdown for text that arrives in small events. Each one is encoded and prepared for by itself. */
const MAX_EVENT_SLOWDOWN = 4;

/** The longest value of a variable that an MCP server can have. */
const LONG = 32_768;

interface Part {
  name: string;
  limit: number;
  redact(): void;
  bytes: number;
}

/**
 * Measures how fast text is redacted. The baseline is ordinary text with one secret, so the ratios show whether the cost
 * per byte depends on the number of secrets, on the text, or on the size of events.
 */
export async function benchRedaction(only?: string): Promise<BenchResult[]> {
  const text = ordinaryText(TEXT_BYTES);
  const baseline = streamed(new Redactor(randomSecrets(1)), text);
  const results: BenchResult[] = [];
  for (const [group, parts] of Object.entries({
    secrets: manySecrets(text),
    hostile: hostileTexts(),
    events: smallEvents(text),
  })) {
    if (only && only !== group) continue;
    for (const { name, limit, redact, bytes } of parts) {
      // Warms up the JIT compiler.
      redact();
      baseline();
      results.push(
        await compare({
          name: `redaction: ${name}`,
          limit,
          subject: async () => rateOf(redact, bytes),
          baseline: async () => rateOf(baseline, text.length),
        }),
      );
    }
  }
  return results;
}

/** Returns the rate in KiB per second of processor time. */
function rateOf(redact: () => void, bytes: number) {
  const before = process.cpuUsage();
  redact();
  const { user, system } = process.cpuUsage(before);
  return { perSecond: bytes / 1024 / ((user + system) / 1e6) };
}

function manySecrets(text: Buffer): Part[] {
  return [10, 100, 1_000].map((count) => ({
    name: `${count} secrets`,
    limit: 1 / MAX_SLOWDOWN,
    redact: streamed(new Redactor(randomSecrets(count)), text),
    bytes: text.length,
  }));
}

/** A secret that repeats itself, and texts that consist of its encodings or almost contain it. */
function hostileTexts(): Part[] {
  const redactor = new Redactor(["a".repeat(LONG)]);
  const texts: Record<string, string> = {
    "a repeated letter": "a",
    "almost the secret": `${"a".repeat(1_023)}b`,
    "percent signs": "%",
    "URL encoding": "%61",
    backslashes: "\\",
    "escaped letters": "\\a\\141",
    entities: "&#97;",
    quotes: "'\\''",
    base64: "YWFh",
    hex: "61",
    xxd: "00000000: 6161 6161 6161 6161 6161 6161 6161 6161  aaaaaaaaaaaaaaaa\n",
    od: "0000000 060541 060541 060541 060541 060541 060541 060541 060541\n",
    "empty lines": "\n",
  };
  return Object.entries(texts).map(([name, unit]) => {
    const text = Buffer.alloc(TEXT_BYTES / 2, unit);
    return {
      name,
      limit: 1 / MAX_HOSTILE_SLOWDOWN,
      redact: streamed(redactor, text),
      bytes: text.length,
    };
  });
}

function smallEvents(text: Buffer): Part[] {
  const redactor = new Redactor(randomSecrets(10));
  const events = Array.from({ length: TEXT_BYTES / 2 / EVENT_BYTES }, (_, index) =>
    text.toString("latin1", index * EVENT_BYTES, (index + 1) * EVENT_BYTES),
  );
  return [
    {
      name: "small events",
      limit: 1 / MAX_EVENT_SLOWDOWN,
      redact: () => {
        for (const event of events) redactor.redact(event);
      },
      bytes: events.length * EVENT_BYTES,
    },
  ];
}

function streamed(redactor: Redactor, text: Buffer): () => void {
  return () => {
    const stream = redactor.byteStream();
    for (let start = 0; start < text.length; start += CHUNK_BYTES)
      stream.push(text.subarray(start, start + CHUNK_BYTES));
    stream.end();
  };
}

function randomSecrets(count: number): string[] {
  return Array.from({ length: count }, () => randomBytes(24).toString("base64"));
}

function ordinaryText(bytes: number): Buffer {
  const lines = [...generateTranscript(2_000)].map(({ data }) => JSON.stringify(data, undefined, 2));
  return Buffer.alloc(bytes, lines.join("\n"));
}
