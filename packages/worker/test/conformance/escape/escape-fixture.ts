import { spawn } from "node:child_process";
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
import { run } from "../../sandboxes/sandbox-support.ts";
import { describePlace, type Fixture, openFixture, untilItWorks } from "../fixture.ts";
import type { Place } from "../place.ts";

/**
 * A sandbox for escape attempts. The attacker inside has bash, coreutils and perl, which can make any system call. With an
 * image, the attacker is root inside and controls every file. The files outside are on the worker's machine and open to all
 * its accounts, so that only the isolation protects them.
 */
export interface EscapeFixture extends Fixture {
  outside: string;
  /** The environment variables of attempts. */
  env: Record<string, string>;
  /** Fails if the host has changed. */
  expectHostUnchanged(): void;
}

export const canary = "content of a file on the host";

/** Defines the tests of a topic that makes escape attempts. */
export function describeEscapes(
  topic: string,
  place: Place,
  define: (fixture: () => EscapeFixture) => void,
): void {
  describePlace<EscapeFixture>(topic, place, define, openEscapeFixture);
}

export async function openEscapeFixture(place: Place): Promise<EscapeFixture> {
  if (!existsSync("/usr/bin/perl")) throw new Error("The escape tests require perl: install perl.");
  const outside = mkdtempSync(join(tmpdir(), "outrider-outside-"));
  chmodSync(outside, 0o777);
  for (const name of ["canary", "-rf", "program"]) writeFileSync(join(outside, name), canary);
  chmodSync(join(outside, "canary"), 0o666);
  chmodSync(join(outside, "program"), 0o777);
  const fixture = await openFixture(place);
  const before = stateOf(outside);
  return {
    ...{ ...fixture, outside },
    env: { LC_ALL: "C", OUTSIDE: outside, OWN: fixture.sandbox.id, WORKER: String(process.pid) },
    expectHostUnchanged: () => expect(stateOf(outside)).toEqual(before),
    async cleanUp() {
      await fixture.cleanUp();
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
  /**
   * The expected output with a kernel that only the sandbox has. Default: as expected, or that the system call is refused for
   * any reason.
   */
  inOwnKernel?: RegExp;
  /** The expected output in a pod, if it differs: its network is not empty, and init has another process there. */
  inPod?: RegExp;
  /** Whether it may end the connection of a pod, if commands can kill that. The next command may then end too. */
  mayEndConnection?: true;
  /** The output of the same command on the host, where it succeeds. It proves that the attempt is a real one. */
  onHost?: RegExp;
}

/** Defines a test for each attempt. */
export function testAttempts(fixture: () => EscapeFixture, attempts: Attempt[]): void {
  test.each(attempts)("$name", async (attempt) => {
    const { command, inOwnKernel, inPod, mayEndConnection, onHost } = attempt;
    const { sandbox, system, env, expectHostUnchanged } = fixture();
    if (onHost) expect(await runOnHost(command, env)).toMatch(onHost);
    const expected = system.pod && inPod ? inPod : attempt.expected;
    const { stdout } = await run(sandbox, `exec 2>&1\n${command}`, { env });
    if (!system.hasOwnKernel) expect(stdout).toMatch(expected);
    else
      expect(
        [expected, inOwnKernel ?? /^refused: /].some((each) => each.test(stdout)),
        stdout,
      ).toBe(true);
    expectHostUnchanged();
    if (mayEndConnection && system.pod?.hasExposedConnection) await untilItWorks(sandbox);
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
