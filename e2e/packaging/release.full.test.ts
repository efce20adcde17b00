import { execFile, execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, expect, test } from "vitest";
import { bundleName } from "../../scripts/release/bundle.ts";
import { readCheckout } from "../../scripts/release/checkout.ts";
import { testTimeout } from "../../scripts/tests/wait-options.ts";
import { root } from "../process.ts";

/** Makes the release of the current commit in two new clones. Needs a network, because each clone installs its own tools. */

const folder = mkdtempSync(join(tmpdir(), "outrider-release-test-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Returns the folder of the release. */
async function makeReleaseIn(clone: string, variables: Record<string, string>): Promise<string> {
  execFileSync("git", ["clone", "--quiet", "--depth=1", `file://${root}`, clone]);
  // The settings of the test runner would change how the web app is built.
  const inherited = Object.entries(process.env).filter(([name]) => !/^(NODE_ENV|TEST|VITEST.*)$/.test(name));
  const env = { ...Object.fromEntries(inherited), ...variables };
  const command = ["-c", 'umask "$1" && exec make release', "sh", variables.UMASK ?? "022"];
  await promisify(execFile)("sh", command, { cwd: clone, env });
  return join(clone, "release");
}

test(
  "clones in different folders give the same bytes",
  async () => {
    const first = await makeReleaseIn(join(folder, "first"), { TZ: "UTC", LANG: "C" });
    const second = await makeReleaseIn(join(folder, "a second clone/with a longer path"), {
      ...{ TZ: "Asia/Tokyo", LANG: "C.UTF-8", UMASK: "027" },
    });
    const sums = (release: string) => readFileSync(join(release, "SHA256SUMS"), "utf8");
    expect(sums(second)).toBe(sums(first));

    // Nobody has started the server in these clones. The bundle must be complete all the same.
    const archive = join(first, `${bundleName(readCheckout(root))}.tar.gz`);
    const entries = execFileSync("tar", ["tzf", archive], { encoding: "utf8", maxBuffer: 64 * 1024 * 1024 });
    expect(entries).toContain("/native/lib/libpq.so.5\n");
  },
  4 * testTimeout,
);
