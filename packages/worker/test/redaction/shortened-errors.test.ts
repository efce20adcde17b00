import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Redactor } from "../../src/redaction/redact.ts";
import { git } from "../../src/repositories/git.ts";
import { openLocalProvider } from "../../src/sandboxes/local/local-provider.ts";
import type { Sandbox, SandboxProvider } from "../../src/sandboxes/sandbox.ts";
import { streamDiff } from "../../src/workspace/diff.ts";
import { probe } from "../../src/workspace/run-probe.ts";
import { inMs, makeRoot, silent } from "../sandboxes/sandbox-support.ts";

/** Error output is shortened. If the cut is inside a secret, the rest of the secret must not remain. */

const secret = "s3cr3t-abcdefghijklmnopqrstuvwxyz-0123456789";
const redactor = new Redactor([secret]);
const { signal } = new AbortController();
const { root, remove } = makeRoot();
let provider: SandboxProvider;
let sandbox: Sandbox;

beforeAll(async () => {
  provider = await openLocalProvider({ root, log: silent });
  sandbox = await provider.open({ id: randomUUID(), deadline: inMs(300_000), label: {} });
});
afterAll(async () => {
  await sandbox?.close();
  await provider?.stop();
  await remove();
});

function expectNoPart(text: string): void {
  for (let start = 0; start + 8 <= secret.length; start++) {
    expect(text).not.toContain(secret.slice(start, start + 8));
  }
}

test("the error of a diff", async () => {
  // bash names the missing folder. The last 1,000 characters of its message begin inside the secret.
  const path = `${secret}/${"x/".repeat(476)}`;
  const repositories = [{ url: "https://git.example.com/x", path, commit: "0".repeat(40) }];
  const stream = streamDiff(sandbox, { repositories, redactor, signal });
  const error = await stream.toArray().catch((reason: Error) => reason);
  expect(error).toBeInstanceOf(Error);
  const { message } = error as Error;
  expect(message).toContain("No such file or directory");
  expectNoPart(message);
});

test("the error of a probe", async () => {
  const script = `printf '%s' "$(printf 'x%.0s' {1..1980})" '${secret}' >&2; exit 3`;
  const { stderr, exit_code } = await probe(sandbox, { script, args: [], limit: 100, signal, redactor });
  expect(exit_code).toBe(3);
  expect(stderr).toMatch(/^x{1980}\*\*\*$/);
});

test("the error of git on the host", async () => {
  const { stderr } = await git({
    args: ["-c", "alias.say=!cat >&2; false", "say"],
    stdin: `${secret}${"x".repeat(15_980)}`,
    access: { env: {}, settings: {}, keyFile: undefined, secrets: [secret], [Symbol.dispose]() {} },
    timeoutMs: 60_000,
    signal,
  });
  expect(stderr).toMatch(/^(?:\*\*\*)?x{15980}\n$/);
  expectNoPart(stderr);
});
