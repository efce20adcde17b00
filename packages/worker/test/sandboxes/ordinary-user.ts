import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, relative, resolve } from "node:path";
import { text } from "node:stream/consumers";
import { expect } from "vitest";
import { countFailures, namesOfFailed, type Results } from "../../../../scripts/tests/results.ts";

const checkout = resolve(import.meta.dirname, "../../../..");
const config = "packages/worker/test/sandboxes/ordinary-user.config.ts";
/** The account `nobody`, because PostgreSQL requires one. */
const uid = "65534";
/** The user ids that /etc/subuid gives the user for images. */
const ranges = { none: "", one: "nobody:2000000:65536\n" };
/** The checkout may be in a folder that only root can enter, so it gets a second path. */
const enter = `for file in /etc/subuid /etc/subgid; do
    [ ! -e "$file" ] || mount --bind "$1" "$file" || exit
  done
  shift && mount --bind "$1" "$2" && cd "$2" && shift 2 &&
  exec setpriv --reuid ${uid} --regid ${uid} --clear-groups "$@"`;

interface UserOptions {
  full?: boolean;
  /** Default: none. */
  ids?: keyof typeof ranges;
  /** A regular expression for the names of the tests to run. Default: all. */
  only?: string;
}

/** Whether a user can have ids of /etc/subuid here. */
export const canHaveIds =
  existsSync("/usr/bin/newuidmap") && existsSync("/etc/subuid") && existsSync("/etc/subgid");

/** As root, runs these test files of the worker as an ordinary user, and fails unless all of their tests pass. */
export async function expectToPassAsOrdinaryUser(files: string[], options: UserOptions = {}): Promise<void> {
  const { results, output } = await runAsOrdinaryUser(files, options);
  expect(namesOfFailed(results), output.slice(-20_000)).toEqual([]);
  expect(countFailures(results), output.slice(-20_000)).toBe(0);
  const passed = Object.entries(results.files).filter(([, { passed }]) => passed > 0);
  expect(passed).toHaveLength(files.length);
}

/** Returns the results and the output. */
async function runAsOrdinaryUser(
  files: string[],
  { full = false, ids = "none", only }: UserOptions,
): Promise<{ results: Results; output: string }> {
  const folder = mkdtempSync(join(tmpdir(), "outrider-user-"));
  const [home, copy, idsFile] = [join(folder, "home"), join(folder, "checkout"), join(folder, "ids")];
  try {
    chmodSync(folder, 0o711);
    for (const path of [home, copy]) mkdirSync(path);
    writeFileSync(idsFile, ranges[ids]);
    chownSync(home, Number(uid), Number(uid));
    const node = relative(checkout, process.execPath);
    const vitest = ["node_modules/vitest/vitest.mjs", "run", "--configLoader", "native", "--config", config];
    const args = [node.startsWith("..") ? process.execPath : node, ...vitest];
    const child = spawn(
      "unshare",
      [
        ...["--mount", "--propagation", "private", "--kill-child"],
        ...["sh", "-c", enter, "sh", idsFile, checkout, copy],
        ...[...args, ...(only ? ["-t", only] : []), ...files.map((file) => `packages/worker/test/${file}`)],
      ],
      {
        env: {
          ...{ PATH: process.env.PATH, HOME: home, TMPDIR: home },
          ...(process.env.CI ? { CI: process.env.CI } : {}),
          ...(full ? { OUTRIDER_FULL: "1" } : {}),
          OUTRIDER_TEST_RESULTS: join(home, "results.json"),
        },
        stdio: ["ignore", "pipe", "pipe"],
      },
    );
    const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "exit")]);
    const output = stdout + stderr;
    try {
      return { results: JSON.parse(readFileSync(join(home, "results.json"), "utf8")), output };
    } catch {
      throw new Error(`The tests of the ordinary user did not run: ${output}`);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
