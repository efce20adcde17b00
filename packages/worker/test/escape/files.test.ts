import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { testAttempts } from "../conformance/escape/escape-fixture.ts";
import { testFileEscapes } from "../conformance/escape/files.ts";
import { localPlaces } from "../sandboxes/local-places.ts";
import { run } from "../sandboxes/sandbox-support.ts";
import { type EscapeFixture, openEscapeFixture } from "./escape-support.ts";

for (const place of localPlaces) testFileEscapes(place);

describe("on the worker's own system", () => {
  let fixture: EscapeFixture;
  beforeAll(async () => {
    fixture = await openEscapeFixture();
  });
  afterAll(() => fixture?.cleanUp());

  testAttempts(
    () => fixture,
    [
      {
        name: "the sandbox's own folder by its host path",
        command: "ls $ROOT $ROOT/$OWN/label.json",
        expected: /^(?:ls: .*No such file.*\n){2}$/,
        onHost: /label\.json/,
      },
      {
        name: "the home of root",
        command: "ls /root",
        expected: /^ls: .*No such file.*\n$/,
      },
      {
        name: "changes to the host's programs",
        command:
          "echo x > /usr/bin/ls; echo x > /etc/passwd; touch /bin/x /lib/x /etc/x /x; rm -f /usr/bin/ls",
        expected: /^(?:.*(?:Read-only|denied).*\n){7}$/,
      },
      {
        name: "a hard link to a setuid program",
        command: "ln /usr/bin/passwd /workspace/second; ln /etc/hosts /tmp/second; ln /workspace /tmp/third",
        expected: /^(?:ln: .*(?:cross-device|not permitted|not allowed).*\n){3}$/,
      },
    ],
  );

  test("are not writable through any mount", async () => {
    const { stdout } = await run(fixture.sandbox, "cut -d' ' -f5,6 /proc/self/mountinfo");
    const writable = stdout.split("\n").filter((line) => / rw/.test(line));
    const paths = writable
      .map((line) => line.split(" ")[0] as string)
      .filter((path) => !path.startsWith("/dev/"));
    expect(new Set(paths)).toEqual(new Set(["/workspace", "/home/sandbox", "/tmp"]));
    for (const line of stdout.trim().split("\n")) expect(line).toMatch(/nosuid/);
  });
  test("a read-only mount cannot be changed", async () => {
    const given = join(fixture.root, "..", "given");
    mkdirSync(given, { recursive: true, mode: 0o777 });
    const sandbox = await fixture.open({ bundles: [{ id: "given", folder: given, target: "/run/given" }] });
    const { stdout } = await run(
      sandbox,
      "exec 2>&1; touch /run/given/x; chmod 700 /run/given; rmdir /run/given; mv /run/given /tmp",
    );
    expect(stdout.match(/Read-only|busy|cross-device/g)).toHaveLength(4);
    expect(readFileSync("/proc/self/mountinfo", "utf8")).not.toContain(given);
    await sandbox.close();
  });
});
