import { parseScript } from "@outrider/agent/models/script";
import { parseSkillSpec } from "@outrider/agent/skills/spec";
import { expect, test } from "vitest";
import { slowOn } from "../../server/test/evil.ts";
import { parseExceptions } from "../src/egress/exceptions.ts";
import { hostOf, targetOf } from "../src/egress/host.ts";
import { matcherOf } from "../src/egress/names.ts";
import { parseAddress } from "../src/repositories/address.ts";
import { formsOf } from "../src/secret-forms.ts";

const rules = { allowedPaths: [], insecureHosts: [] };

/** The worker holds the leases of all its runs: a text that stops it for seconds would cost every one of them. */
test.each([
  ["a script", (text: string) => parseScript(text)],
  ["a repository's address", (text: string) => parseAddress(text, rules)],
  ["a skill", (text: string) => parseSkillSpec(text)],
  ["a host", (text: string) => hostOf(text)],
  ["a host and port", (text: string) => targetOf(text)],
  ["a pattern of names", (text: string) => matcherOf(text)],
  ["an exception", (text: string) => parseExceptions(text)],
  ["a secret", (text: string) => formsOf(text)],
])("no text takes longer than its length allows in %s", (_name, work) => {
  expect(slowOn(work)).toEqual([]);
});
