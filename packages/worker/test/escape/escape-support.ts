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
import { parseExceptions } from "../../src/egress/exceptions.ts";
import { openLocalProvider } from "../../src/sandboxes/local/local-provider.ts";
import type { OpenOptions, Sandbox, SandboxProvider } from "../../src/sandboxes/sandbox.ts";
import { pullSystemImage } from "../images/pull-system-image.ts";
import { systemLayer } from "../images/system-image.ts";
import { leftoversOf, noLeftovers } from "../sandboxes/leftovers.ts";
import { inMs, isRoot, makeRoot, run, silent, until } from "../sandboxes/sandbox-support.ts";

/**
 * A sandbox for escape attempts. The attacker inside has bash, coreutils, git and perl, which can make any system call.
 * The files outside are open to every account of the host, so that only the isolation protects them.
 */
export interface EscapeFixture {
  root: string;
  outside: string;
  provider: SandboxProvider;
  sandbox: Sandbox;
  /** The environment variables of attempts. */
  env: Record<string, string>;
  open(options?: Partial<OpenOptions>): Promise<Sandbox>;
  /** Fails if the host has changed. */
  expectHostUnchanged(): void;
  /** Closes the sandboxes and fails if anything is left of them. */
  cleanUp(): Promise<void>;
}

/** What attackers need in an image beside coreutils and bash. */
const attackPrograms = [
  ...["dd", "mkfifo", "mknod", "mount", "nsenter", "perl", "rmdir", "timeout"],
  ...["truncate", "umount", "unshare", "wc"],
];

/** The parameters of tests that every attacker must fail, whatever the system of the sandbox is. */
export const attackers: { attacker: string; options(): EscapeOptions }[] = [
  { attacker: "a user", options: () => ({}) },
  ...(isRoot ? [{ attacker: "root in an image", options: rootInImage }] : []),
];

export function rootInImage(): EscapeOptions {
  // Links of the image in place of mount points must not lead a mount elsewhere.
  const links = { proc: "/tmp", dev: "/../etc", opt: "/../../tmp", "etc/hosts": "/etc/passwd" };
  return { systemImage: systemLayer({}, { morePrograms: attackPrograms, links }) };
}

type EscapeOptions = Partial<OpenOptions> & { systemImage?: Buffer };

export const canary = "content of a file on the host";

/** With an image, the attacker is root inside and controls every file. */
export async function openEscapeFixture(options: EscapeOptions = {}): Promise<EscapeFixture> {
  if (!existsSync("/usr/bin/perl")) throw new Error("The escape tests require perl: install perl.");
  const { root, remove } = makeRoot();
  const outside = mkdtempSync(join(tmpdir(), "outrider-outside-"));
  chmodSync(outside, 0o777);
  for (const name of ["canary", "-rf", "program"]) writeFileSync(join(outside, name), canary);
  chmodSync(join(outside, "canary"), 0o666);
  chmodSync(join(outside, "program"), 0o777);
  const provider = await openLocalProvider({ root, log: silent, exceptions: parseExceptions("127.0.0.1") });
  const { systemImage, ...openOptions } = options;
  const image = systemImage && (await pullSystemImage(provider, systemImage));
  const opened: Sandbox[] = [];
  const open = async (more: Partial<OpenOptions> = {}) => {
    const sandbox = await provider.open({
      ...{ id: randomUUID(), deadline: inMs(300_000), label: {} },
      ...{ ...(image ? { image } : {}), ...more },
    });
    opened.push(sandbox);
    return sandbox;
  };
  const sandbox = await open(openOptions);
  const before = stateOf(outside);
  return {
    ...{ root, outside, provider, sandbox, open },
    env: { LC_ALL: "C", OUTSIDE: outside, ROOT: root, OWN: sandbox.id, WORKER: String(process.pid) },
    expectHostUnchanged: () => expect(stateOf(outside)).toEqual(before),
    async cleanUp() {
      await Promise.all(opened.map((open) => open.close()));
      await until(() => JSON.stringify(leftoversOf(root)) === JSON.stringify(noLeftovers));
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
  /** A bash command that prints its result. */
  command: string;
  /** The expected error output. */
  expected: RegExp;
  /** The output of the same command on the host, where it succeeds. It proves that the attempt is a real one. */
  onHost?: RegExp;
}

/** Defines a test for each attempt. */
export function testAttempts(fixture: () => EscapeFixture, attempts: Attempt[]): void {
  test.each(attempts)("$name", async ({ command, expected, onHost }) => {
    const { sandbox, env, expectHostUnchanged } = fixture();
    if (onHost) expect(await runOnHost(command, env)).toMatch(onHost);
    const { stdout } = await run(sandbox, `exec 2>&1\n${command}`, { env });
    expect(stdout).toMatch(expected);
    expectHostUnchanged();
  });
}

/** Asynchronous, because the command may connect to a server of the test. */
async function runOnHost(command: string, env: Record<string, string>): Promise<string> {
  const environment = { PATH: "/usr/sbin:/usr/bin:/sbin:/bin", LC_ALL: "C", ...env };
  const child = spawn("bash", ["-c", `exec 2>&1\n${command}`], {
    env: environment,
    stdio: ["ignore", "pipe", "inherit"],
  });
  return await text(child.stdout);
}
