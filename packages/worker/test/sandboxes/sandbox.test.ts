import { randomUUID } from "node:crypto";
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { explainBwrapError } from "../../src/sandboxes/local/bubblewrap.ts";
import { openLocalProvider } from "../../src/sandboxes/local/local-provider.ts";
import { processTag } from "../../src/sandboxes/local/process/process-tag.ts";
import type { Sandbox, SandboxProvider } from "../../src/sandboxes/sandbox.ts";
import { testIsolation } from "../conformance/isolation.ts";
import { testProcesses } from "../conformance/processes.ts";
import { localPlaces } from "./local-places.ts";
import {
  initsOf,
  inMs,
  isRoot,
  makeRoot,
  processesWith,
  run,
  silent,
  sleepersOf,
  until,
} from "./sandbox-support.ts";

for (const place of localPlaces) {
  testProcesses(place);
  testIsolation(place);
}

describe("on the worker's own system, a sandbox", () => {
  const { root, remove } = makeRoot();
  let provider: SandboxProvider;
  let sandbox: Sandbox;

  const open = (id: string = randomUUID()) => provider.open({ id, deadline: inMs(120_000), label: {} });

  beforeAll(async () => {
    provider = await openLocalProvider({ root, log: silent });
    sandbox = await open("first");
  });

  afterAll(async () => {
    await sandbox?.close();
    await provider?.stop();
    await remove();
  });

  test("finds git and Python", async () => {
    const { stdout, stderr } = await run(
      sandbox,
      `git init -q repo && git -C repo -c user.name=a -c user.email=a@b commit -q --allow-empty -m first
       git -C repo log --format=%s; ls -A repo; python3 -c 'import ssl, tempfile; print(tempfile.mkdtemp()[:5])'`,
    );
    expect({ stdout, stderr }).toEqual({ stdout: "first\n.git\n/tmp/\n", stderr: "" });
  });

  test("ends when init is killed, and the next command gets a new one", async () => {
    const marker = `4400.${Date.now()}`;
    const before = initsOf(processTag);
    const fresh = await open();
    const running = run(fresh, `sleep ${marker}`);
    await until(() => sleepersOf(marker).length === 1);
    const [init = 0] = initsOf(processTag).filter((pid) => !before.includes(pid));
    process.kill(init, "SIGKILL");
    expect(await running).toMatchObject({ exitCode: null, signal: "SIGKILL", timedOut: false });
    expect(processesWith(marker)).toEqual([]);
    expect((await run(fresh, "echo on")).stdout).toBe("on\n");
    await fresh.close();
  });
  test("runs as an unprivileged user inside and on the host, even if the worker is root", async () => {
    const marker = `6000.${Date.now()}`;
    const other = await open();
    const uids: number[] = [];
    for (const each of [sandbox, other]) {
      expect((await run(each, "id -u; id -g")).stdout).toBe("1000\n1000\n");
      const running = run(each, `sleep ${marker}`);
      await until(() => sleepersOf(marker).length === 1);
      for (const pid of processesWith(marker)) {
        const status = readFileSync(`/proc/${pid}/status`, "utf8");
        uids.push(Number(/^Uid:\t(\d+)/m.exec(status)?.[1]));
      }
      await each.kill();
      await running;
    }
    expect(uids).not.toContain(0);
    // All sandboxes share one uid, because they share the files of a base.
    expect(new Set(uids).size).toBe(1);
    if (isRoot) expect(Math.min(...uids)).toBeGreaterThanOrEqual(21500);
    else expect(new Set(uids)).toEqual(new Set([process.getuid?.()]));
    await other.close();
  });

  test("sees only the host's programs, read-only", async () => {
    const repository = join(import.meta.dirname, "..", "..", "..", "..");
    const hidden = [
      repository,
      root,
      "/root",
      "/var",
      "/run",
      "/sys",
      "/boot",
      "/etc/shadow",
      "/etc/machine-id",
    ];
    expect((await run(sandbox, `stat ${hidden.join(" ")}`)).stdout).toBe("");
    expect((await run(sandbox, "ls -A /home")).stdout).toBe("sandbox\n");
    expect((await run(sandbox, "cat /etc/passwd")).stdout).toMatch(/^root:.*\nsandbox:.*\n$/);
    const places = ["/usr/x", "/bin/x", "/etc/x", "/x", "/dev/x", "/home/x", "/proc/x", "/etc/passwd"];
    const { stdout } = await run(sandbox, `for x in ${places.join(" ")}; do echo > $x && echo $x; done`);
    expect(stdout).toBe("");
  });

  test("sees its mounts and can write only to writable ones", async () => {
    const shared = mkdtempSync(join(tmpdir(), "outrider-mount-"));
    chmodSync(shared, 0o777);
    writeFileSync(join(shared, "given"), "from outside\n", { mode: 0o644 });
    const mounts = [
      { source: shared, target: "/cache", writable: false },
      { source: shared, target: "/outbox", writable: true },
    ];
    const other = makeRoot();
    const withMounts = await openLocalProvider({ root: other.root, mounts, log: silent });
    const inside = await withMounts.open({ id: randomUUID(), deadline: inMs(60_000), label: {} });
    expect((await run(inside, "cat /cache/given; echo x > /cache/new")).stdout).toBe("from outside\n");
    expect(readdirSync(shared)).toEqual(["given"]);
    expect((await run(inside, "echo written > /outbox/new")).exitCode).toBe(0);
    expect(readFileSync(join(shared, "new"), "utf8")).toBe("written\n");
    expect((await run(sandbox, "ls -d /cache /outbox")).stdout).toBe("");
    await inside.close();
    expect(readdirSync(shared)).toEqual(["given", "new"]);
    await withMounts.stop();
    await other.remove();
    rmSync(shared, { recursive: true });
  });

  test("names what isolates it", () => {
    const { network, seccomp } = sandbox.enforced;
    expect(network).toEqual({ enforced: true, by: "a network namespace" });
    expect(seccomp).toEqual({ enforced: true, by: "seccomp" });
  });

  test("sees a mounted folder of the host read-only by default", async () => {
    const withMount = await provider.open({
      ...{ id: randomUUID(), deadline: inMs(60_000), label: {} },
      bundles: [{ id: "given", folder: "/etc/ssl", target: "/opt/given" }],
    });
    expect((await run(withMount, "ls -A /opt/given")).stdout).not.toBe("");
    expect((await run(withMount, "touch /opt/given/x")).stderr).toContain("Read-only");
    await withMount.close();
  });

  test("explains how to fix a failed bubblewrap", () => {
    expect(explainBwrapError("spawn bwrap ENOENT")).toContain("install the package bubblewrap");
    expect(explainBwrapError("nsenter: failed to execute bwrap: No such file or directory")).toContain(
      "install the package bubblewrap",
    );
    expect(explainBwrapError("spawn nsenter ENOENT")).toContain("install the package util-linux");
    expect(explainBwrapError("sh: 9: mount: not found")).toContain("install the package util-linux");
    expect(explainBwrapError("bwrap: Unknown option --disable-userns")).toContain(
      "install bubblewrap 0.8.0 or newer",
    );
    expect(explainBwrapError("bwrap: No permissions to create new namespace")).toContain(
      "user.max_user_namespaces",
    );
    expect(explainBwrapError("bwrap: setting up uid map: Permission denied")).toContain("apparmor_restrict");
    expect(explainBwrapError("bwrap: Can't find source path /root/x: Permission denied")).toContain(
      "/var/lib/outrider",
    );
    expect(explainBwrapError("")).toContain("no reason");
  });
});
