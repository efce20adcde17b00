import { beforeEach, expect, test, vi } from "vitest";
import { waitOptions } from "../../../../scripts/tests/wait-options.ts";
import { Redactor } from "../../src/redaction/redact.ts";
import { DeltaStream } from "../../src/run/delta-stream.ts";

let sent: string[];
let stream: DeltaStream;
beforeEach(() => {
  sent = [];
  stream = new DeltaStream({ redactor: new Redactor(["open-sesame"]), send: (text) => sent.push(text) });
});

const untilSent = () => vi.waitUntil(() => sent.length > 0, { ...waitOptions, interval: 1 });

test("sends text that arrives together in one delta", async () => {
  for (const word of ["one ", "two ", "three"]) stream.push(word);
  await untilSent();
  stream.push(" four");
  await vi.waitUntil(() => sent.length === 2, { ...waitOptions, interval: 1 });
  expect(sent).toEqual(["one two three", " four"]);
});

test("splits long text into several deltas", async () => {
  stream.push("x".repeat(13_000));
  await untilSent();
  expect(sent.map(({ length }) => length)).toEqual([6_000, 6_000, 1_000]);
});

test("does not split a pair of surrogates between two deltas", async () => {
  const text = `x${"\u{1f600}".repeat(4_000)}`;
  stream.push(text);
  await untilSent();
  expect(sent.every((delta) => delta.isWellFormed() && delta.length <= 6_000)).toBe(true);
  expect(sent.join("")).toBe(text);
});

test("redacts a secret that arrives in pieces", async () => {
  for (const piece of ["it is open-", "ses", "ame, you see"]) stream.push(piece);
  await untilSent();
  expect(sent).toEqual(["it is ***, you see"]);
});

test("replaces the same characters as events do, but not a pair of surrogates that arrives in pieces", async () => {
  for (const piece of ["a\0b ", "\ud83d"]) stream.push(piece);
  await untilSent();
  stream.push("\ude00 \ud83d.");
  await vi.waitUntil(() => sent.length === 2, { ...waitOptions, interval: 1 });
  expect(sent).toEqual(["a\ufffdb ", "\u{1f600} \ufffd."]);
});

test("drops pending text on reset and starts over", async () => {
  stream.push("already written, and then open-");
  stream.reset();
  stream.push("sesame is a seed");
  await untilSent();
  expect(sent).toEqual(["sesame is a seed"]);
});
