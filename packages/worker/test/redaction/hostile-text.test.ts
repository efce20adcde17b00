import { parseScript } from "@outrider/agent/models/scripted/script";
import { parseSkillSpec } from "@outrider/agent/skills/spec";
import { expect, test } from "vitest";
import { slowOn } from "../../../server/test/http/hostile-text.ts";
import { parseExceptions } from "../../src/egress/exceptions.ts";
import { normalizeHost, parseTarget } from "../../src/egress/host.ts";
import { compileHostPattern } from "../../src/egress/host-pattern.ts";
import { Redactor } from "../../src/redaction/redact.ts";
import { secretPatterns } from "../../src/redaction/secret-patterns.ts";
import { parseAddress } from "../../src/repositories/address.ts";

/** The longest variable of an MCP server, and other values that almost match many texts. */
const repetitive = new Redactor([
  "a".repeat(32_768),
  `${"0".repeat(20_000)}1`,
  "a.".repeat(9_000),
  " ".repeat(9_000),
]);
const rules = { allowedPaths: [], insecureHosts: [] };

test("output that matches a long, repetitive secret everywhere is redacted in linear time", () => {
  const redactor = new Redactor(["a".repeat(30_000)]);
  // A quadratic matcher takes a minute, which exceeds the test's timeout.
  expect(redactor.redact(`${"a".repeat(400_000)}b`)).toBe("***b");
});

/** The worker renews the leases of all its runs. A text that blocks it for seconds could lose all of them. */
test.each([
  ["a script", (text: string) => parseScript(text)],
  ["a repository's address", (text: string) => parseAddress(text, rules)],
  ["a skill", (text: string) => parseSkillSpec(text)],
  ["a host", (text: string) => normalizeHost(text)],
  ["a host and port", (text: string) => parseTarget(text)],
  ["a pattern of names", (text: string) => compileHostPattern(text)],
  ["an exception", (text: string) => parseExceptions(text)],
  ["a secret", (text: string) => secretPatterns(text)],
  ["output with a repetitive secret", (text: string) => repetitive.redact(text)],
])("parsing %s takes linear time for hostile text", (_name, work) => {
  expect(slowOn(work)).toEqual([]);
});
