import { create } from "./case.ts";
import type { Sent } from "./exchange.ts";
import type { Fixture } from "./fixture.ts";

const KIB = 1_024;
const MIB = 1_024 * KIB;
const prompt = "SAY: hello";
const with_ = (members: object) => create({ prompt, ...members });
const file = (data: string) => ({ file_name: "notes.bin", mime_type: "application/octet-stream", data });
const base64 = (bytes: number) => Buffer.alloc(bytes, "x").toString("base64");
const names = (count: number) => Array.from({ length: count }, (_, index) => `name${index}`);
const map = (count: number, value: unknown) => Object.fromEntries(names(count).map((name) => [name, value]));

function nested(levels: number): object {
  return levels === 0 ? {} : { items: nested(levels - 1) };
}

/** The largest of everything, each right beside a bad request. */
export const bounds: [name: string, send: (fixture: Fixture) => Sent][] = [
  ["a prompt of 256 KiB", () => create({ prompt: "x".repeat(256 * KIB) })],
  ["a multi-byte prompt of 256 KiB", () => create({ prompt: "é".repeat(128 * KIB) })],
  ["a prompt of one byte", () => create({ prompt: "x" })],
  ["a title of 256 astral characters", () => with_({ title: "🦊".repeat(256) })],
  ["20 pairs of metadata", () => with_({ metadata: map(20, "v".repeat(256)) })],
  ["a metadata key of 64 characters and an empty value", () => with_({ metadata: { ["k".repeat(64)]: "" } })],
  ["the highest limits", () => with_({ limits: { max_steps: 10_000, timeout_minutes: 10_080 } })],
  ["the lowest priority", () => with_({ priority: -10 })],
  ["the highest priority", () => with_({ priority: 10 })],
  ["an output schema as deep as may be", () => with_({ output_schema: nested(62) })],
  ["an output schema of 64 KiB", () => with_({ output_schema: { title: "s".repeat(64 * KIB - 12) } })],
  ["20 MCP servers", () => with_({ config: { mcp_servers: map(20, { command: "x" }) } })],
  ["a sandbox that is not kept", () => with_({ config: { idle_timeout_minutes: 0 } })],
  ["an attachment of 9 MiB", () => with_({ attachments: [file(base64(9 * MIB))] })],
  [
    "five attachments of 10 MiB in all",
    () => with_({ attachments: names(5).map(() => file(base64(2 * MIB))) }),
  ],
  ["an empty attachment", () => with_({ attachments: [file("")] })],
  ["a body of 1 MiB", () => create(JSON.stringify({ prompt }).padEnd(MIB))],
  ["an idempotency key of 255 characters", () => create({ prompt }, idempotent("k".repeat(255)))],
  ["a content type with a charset", () => create({ prompt }, typed("Application/JSON; Charset=UTF-8"))],
  [
    "a body that says it is not encoded",
    () => create({ prompt }, { headers: { "content-encoding": "identity" } }),
  ],
  ["an expectation that nobody knows", () => create({ prompt }, { headers: { expect: "a miracle" } })],
  [
    "a key behind a scheme in other letters",
    ({ server }) => ({
      ...create({ prompt }, { headers: { authorization: `bEARER  ${server.key}` } }),
      key: null,
    }),
  ],
];

function idempotent(key: string): Partial<Sent> {
  return { headers: { "idempotency-key": key } };
}

function typed(type: string): Partial<Sent> {
  return { headers: { "content-type": type } };
}
