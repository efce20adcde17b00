import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { signIn, whoAmI } from "./app.js";
import { createSessions } from "./sessions.js";

test("stores are independent", () => {
  const [first, second] = [createSessions(), createSessions()];
  const id = first.open("ann");
  assert.equal(first.find(id), "ann");
  assert.equal(second.find(id), undefined);
  assert.equal(second.open("bo"), 1);
});
test("uses the given clock", () => {
  let time = 1_000;
  const sessions = createSessions(() => time);
  const id = sessions.open("ann");
  time += 59_999;
  assert.equal(sessions.find(id), "ann");
  time += 1;
  assert.equal(sessions.find(id), undefined);
  assert.equal(sessions.closeExpired(), 1);
  assert.equal(sessions.closeExpired(), 0);
});
test("methods work on their own", () => {
  const { open, find } = createSessions();
  assert.equal(find(open("ann")), "ann");
});
test("the app works as before", () => {
  const { session } = signIn("ann");
  assert.equal(whoAmI(session), "ann");
  assert.equal(whoAmI(99), "anonymous");
});
test("there is no state in the module", () => {
  assert.doesNotMatch(readFileSync("sessions.js", "utf8"), /^(let|var) /m);
});
