import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { outrider, root } from "./process.ts";

const run = promisify(execFile);

test("doctor opens a sandbox and says of each control whether it holds here", async () => {
  const { code, stdout } = await outrider(["doctor", "--json"]);
  const { findings } = JSON.parse(stdout) as { findings: { name: string; state: string; says: string }[] };
  expect(code).toBe(0);
  expect(findings).toContainEqual({ name: "sandbox", says: "a command runs in one", state: "ok" });
  for (const name of ["memory", "cpus", "pids", "disk", "network", "seccomp"]) {
    expect(findings.find((one) => one.name === name)?.says).toMatch(/^(enforced by|not enforced:) \S+/);
  }
  expect((await outrider(["doctor"])).stdout).toContain("ok  sandbox   a command runs in one\n");
});

test("doctor says what to set where there can be no sandbox, and ends with 1", async () => {
  const forbid = 'echo 0 > /proc/sys/user/max_user_namespaces && exec "$@"';
  const command = ["sh", "-c", forbid, "sh", join(root, "bin/outrider"), "doctor"];
  const end = await run("unshare", ["--user", "--map-root-user", ...command]).catch((error) => error);
  expect(end.code).toBe(1);
  // Here root has no other uid to give to sandboxes; where it had, the namespaces would be what is missing.
  expect(end.stdout).toMatch(/!! {2}sandbox .*(start it as an ordinary user|user\.max_user_namespaces)/);
});
