import { beforeEach, expect, test, vi } from "vitest";
import { Redactor } from "../src/redact.ts";
import { Speech } from "../src/speech.ts";

let told: string[];
let speech: Speech;
beforeEach(() => {
  told = [];
  speech = new Speech({ redactor: new Redactor(["open-sesame"]), tell: (text) => told.push(text) });
});

const toldSomething = () => vi.waitUntil(() => told.length > 0, { timeout: 5_000, interval: 1 });

test("words that come together are told together", async () => {
  for (const word of ["one ", "two ", "three"]) speech.say(word);
  await toldSomething();
  speech.say(" four");
  await vi.waitUntil(() => told.length === 2, { timeout: 5_000, interval: 1 });
  expect(told).toEqual(["one two three", " four"]);
});

test("more than one delta may hold is told in parts", async () => {
  speech.say("x".repeat(13_000));
  await toldSomething();
  expect(told.map(({ length }) => length)).toEqual([6_000, 6_000, 1_000]);
});

test("a secret that comes in pieces is not told", async () => {
  for (const piece of ["it is open-", "ses", "ame, you see"]) speech.say(piece);
  await toldSomething();
  expect(told).toEqual(["it is ***, you see"]);
});

test("nothing is told of a message that is on its way as an event, and the next begins anew", async () => {
  speech.say("already written, and then open-");
  speech.end();
  speech.say("sesame is a seed");
  await toldSomething();
  expect(told).toEqual(["sesame is a seed"]);
});
