import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { openLocalProvider } from "../../src/sandboxes/local.ts";
import type { OpenOptions, Sandbox, SandboxProvider } from "../../src/sandboxes/sandbox.ts";
import { leftoversOf, nothing } from "../sandbox-leftovers.ts";
import { inMs, makeRoot, run, silent, until } from "../sandbox-support.ts";

/**
 * The attacker inside has bash, coreutils, git and perl, which makes any call of the kernel. What lies outside stands
 * open to every account of the host, so that nothing but the walls keeps a sandbox from it.
 */
export interface Ground {
  root: string;
  outside: string;
  provider: SandboxProvider;
  sandbox: Sandbox;
  /** What attempts find in their environment. */
  env: Record<string, string>;
  open(options?: Partial<OpenOptions>): Promise<Sandbox>;
  /** Fails when the host is not as it was. */
  unharmed(): void;
  /** Fails when anything of the sandboxes is left. */
  leave(): Promise<void>;
}

export const canary = "the host's own words";

export async function takeGround(options: Partial<OpenOptions> = {}): Promise<Ground> {
  if (!existsSync("/usr/bin/perl")) throw new Error("The attempts to escape need perl: install perl.");
  const { root, remove } = makeRoot();
  const outside = mkdtempSync(join(tmpdir(), "outrider-outside-"));
  chmodSync(outside, 0o777);
  for (const name of ["canary", "-rf", "program"]) writeFileSync(join(outside, name), canary);
  chmodSync(join(outside, "canary"), 0o666);
  chmodSync(join(outside, "program"), 0o777);
  const provider = await openLocalProvider({ root, log: silent });
  const opened: Sandbox[] = [];
  const open = async (more: Partial<OpenOptions> = {}) => {
    const sandbox = await provider.open({ id: randomUUID(), deadline: inMs(300_000), label: {}, ...more });
    opened.push(sandbox);
    return sandbox;
  };
  const sandbox = await open(options);
  const before = stateOf(outside);
  return {
    ...{ root, outside, provider, sandbox, open },
    env: { OUTSIDE: outside, ROOT: root, OWN: sandbox.id, WORKER: String(process.pid) },
    unharmed: () => expect(stateOf(outside)).toEqual(before),
    async leave() {
      await Promise.all(opened.map((each) => each.close()));
      await until(() => JSON.stringify(leftoversOf(root)) === JSON.stringify(nothing));
      await provider.stop();
      await remove();
      await rm(outside, { recursive: true, force: true });
    },
  };
}

function stateOf(outside: string): object {
  const files = readdirSync(outside).map((name) => {
    const { mode, uid, nlink, mtimeMs } = lstatSync(join(outside, name));
    return { name, mode, uid, nlink, mtimeMs, text: readFileSync(join(outside, name), "utf8") };
  });
  const settings = ["kernel/core_pattern", "kernel/hostname", "kernel/domainname"];
  return { files, settings: settings.map((name) => readFileSync(join("/proc/sys", name), "utf8")) };
}

export interface Attempt {
  name: string;
  /** In bash. It prints what became of it. */
  command: string;
  /** The failure, of the right kind. */
  says: RegExp;
  /** What the same command says on the host, where nothing stops it: so that it is an attempt at all. */
  outside?: RegExp;
}

export function attempts(ground: () => Ground, list: Attempt[]): void {
  test.each(list)("$name", async ({ command, says, outside }) => {
    const { sandbox, env, unharmed } = ground();
    if (outside) expect(await onHost(command, env)).toMatch(outside);
    const { stdout } = await run(sandbox, `exec 2>&1\n${command}`, { env });
    expect(stdout).toMatch(says);
    unharmed();
  });
}

/** Not at once: what it reaches may be a server of the test. */
async function onHost(command: string, env: Record<string, string>): Promise<string> {
  const environment = { PATH: "/usr/sbin:/usr/bin:/sbin:/bin", LC_ALL: "C", ...env };
  const child = spawn("bash", ["-c", `exec 2>&1\n${command}`], {
    env: environment,
    stdio: ["ignore", "pipe", "inherit"],
  });
  return await text(child.stdout);
}
