import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { Cgroup } from "../../src/sandboxes/local/cgroups/cgroup.ts";
import { type Capabilities, type Cgroups, openCgroups } from "../../src/sandboxes/local/cgroups/cgroups.ts";
import { findParentGroup } from "../../src/sandboxes/local/cgroups/find-parent.ts";
import { readHierarchies } from "../../src/sandboxes/local/cgroups/hierarchies.ts";
import { isRoot, until } from "./sandbox-support.ts";

const name = `test ${randomUUID()}`;
let cgroups: Cgroups;

beforeAll(async () => {
  cgroups = await openCgroups({ name });
});
afterAll(() => cgroups?.reap([]));

/** Returns whether this host enforces the control. If it does not, checks that the capability says why. */
function isEnforced(resource: keyof Capabilities): boolean {
  const capability = cgroups.capabilities[resource];
  if (capability.enforced) return true;
  expect(capability.reason).toMatch(/cannot be (limited|frozen).*\(.+\): start the worker as root/);
  return false;
}

/** Joins the group, then becomes the command. */
function start(group: Cgroup, ...argv: string[]): ChildProcess {
  const join = `for file in ${group.procsFiles.join(" ")}; do echo 0 > "$file" || exit 99; done; exec "$@"`;
  return spawn("/bin/sh", ["-c", join, "sh", ...argv], { stdio: ["ignore", "pipe", "ignore"] });
}

const procsOf = (group: Cgroup) =>
  group.procsFiles.flatMap((file) => readFileSync(file, "utf8").match(/\d+/g) ?? []);

/** Removes the group when the test ends, even if it fails. */
function removedAfterTest(group: Cgroup): Cgroup {
  onTestFinished(async () => {
    await group.kill();
    await group.remove();
  });
  return group;
}

/** Returns CPU time in kernel ticks, 100 per second. */
function cpuTicks(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return Number(fields[11]) + Number(fields[12]);
}

const spin = "while :; do :; done";
/** Uses CPU for a while, outside of any test group. */
const useCpu = () => spawnSync("python3", ["-c", "sum(range(3_000_000))"]);

test("enforces every limit as root if the kernel has the controllers", () => {
  const controllers = readFileSync("/proc/cgroups", "utf8");
  for (const [resource, controller] of [
    ["memory", "memory"],
    ["cpus", "cpu"],
    ["pids", "pids"],
    ["freeze", "freezer"],
  ] as const) {
    const inKernel = new RegExp(`^${controller}\\t.*\\t1$`, "m").test(controllers);
    if (!isRoot || !inKernel) isEnforced(resource);
    else
      expect(cgroups.capabilities[resource]).toEqual({
        enforced: true,
        by: expect.stringMatching(/^cgroup v/),
      });
  }
});

describe("limits", () => {
  test("kill only the process that exceeds the memory limit", async () => {
    if (!isEnforced("memory")) return;
    const group = removedAfterTest(cgroups.create("memory", { memory_mb: 64 }));
    const bystander = start(group, "sleep", "1000");
    const [, signal] = await once(start(group, "python3", "-c", "bytearray(b'x') * (300 << 20)"), "exit");
    expect(signal).toBe("SIGKILL");
    expect(group.limitEvents()).toEqual({ oom_kills: 1, forks_refused: 0 });
    expect(bystander.exitCode ?? bystander.signalCode).toBeNull();
  });

  test("reject a fork beyond the process limit", async () => {
    if (!isEnforced("pids")) return;
    const group = removedAfterTest(cgroups.create("pids", { pids: 12 }));
    const bomb = `
import os, signal
for count in range(100):
    try:
        if os.fork() == 0: signal.pause()
    except OSError as error:
        os.write(1, b"%d %d" % (count, error.errno))
        break`;
    const child = start(group, "python3", "-c", bomb);
    const [output] = await once(child.stdout as NodeJS.ReadableStream, "data");
    expect(String(output)).toBe("11 11");
    expect(group.limitEvents()).toEqual({ oom_kills: 0, forks_refused: 1 });
  });

  test("throttle CPU use", async () => {
    if (!isEnforced("cpus")) return;
    const group = removedAfterTest(cgroups.create("cpus", { cpus: 0.1 }));
    const child = start(group, "/bin/sh", "-c", spin);
    const throttled = () =>
      group.procsFiles
        .map((file) => join(dirname(file), "cpu.stat"))
        .map((file) => (existsSync(file) ? readFileSync(file, "utf8") : ""))
        .flatMap((stat) => /nr_throttled (\d+)/.exec(stat)?.[1] ?? [])
        .some((count) => Number(count) >= 10);
    const startedAt = performance.now();
    await until(throttled);
    const wholeTicks = (performance.now() - startedAt) / 10;
    expect(cpuTicks(child.pid as number) / wholeTicks).toBeLessThan(0.3);
  });
});

describe("a control group", () => {
  test("freezes and thaws its processes", async () => {
    if (!isEnforced("freeze")) return;
    const group = removedAfterTest(cgroups.create("freeze", {}));
    const { pid = 0 } = start(group, "/bin/sh", "-c", spin);
    await until(() => cpuTicks(pid) > 2);
    await group.freeze();
    const before = cpuTicks(pid);
    useCpu();
    expect(cpuTicks(pid)).toBe(before);
    await group.thaw();
    await until(() => cpuTicks(pid) > before);
  });

  test("kills all its processes, even if they are frozen or keep forking", async () => {
    if (!isEnforced("pids") || !isEnforced("freeze")) return;
    const group = removedAfterTest(cgroups.create("kill", { pids: 100 }));
    const forking = start(group, "bash", "-c", "while :; do (exec sleep 0.2) & done 2>/dev/null");
    await until(() => procsOf(group).length > 50);
    await group.kill();
    expect(procsOf(group)).toEqual([]);
    expect(forking.signalCode ?? (await once(forking, "exit"))[1]).toBe("SIGKILL");

    start(group, "sleep", "1000");
    await until(() => procsOf(group).length > 0);
    await group.freeze();
    await group.kill();
    expect(procsOf(group)).toEqual([]);
    await group.remove();
    expect(() => procsOf(group)).toThrow("ENOENT");
  });

  test("freezes and kills through v1 if there is no v2", async () => {
    const freezer = readHierarchies().find(({ controllers }) => controllers.includes("freezer"));
    const parent =
      freezer && (await findParentGroup(freezer, ["freezer"], `outrider-test-${randomUUID()}`)).parent;
    if (!parent) return void isEnforced("freeze");
    const { path, version, controllers } = parent;
    const folder = join(path, `outrider-test-${randomUUID()}`);
    mkdirSync(folder);
    const group = removedAfterTest(new Cgroup([{ version, controllers, folder }]));
    const { pid = 0 } = start(group, "bash", "-c", "for i in 1 2 3 4; do (while :; do :; done) & done; wait");
    await until(() => procsOf(group).length === 5);
    await group.freeze();
    const before = cpuTicks(pid);
    useCpu();
    expect(cpuTicks(pid)).toBe(before);
    await group.kill();
    expect(procsOf(group)).toEqual([]);
  });
});

test("a later worker with the same name removes leftover groups, but not those of another worker", async () => {
  if (!isEnforced("freeze")) return;
  const [left, kept] = [
    removedAfterTest(cgroups.create("left", {})),
    removedAfterTest(cgroups.create("kept", {})),
  ];
  const others = await openCgroups({ name: `${name} of another` });
  const foreign = removedAfterTest(others.create("left", {}));
  const sleepers = [left, kept, foreign].map((group) => start(group, "sleep", "1000"));
  await until(() =>
    [left, kept, foreign].every((group) => procsOf(group).length === group.procsFiles.length),
  );

  const later = await openCgroups({ name });
  expect(await later.reap(["kept"])).toEqual(["left"]);
  expect(() => procsOf(left)).toThrow("ENOENT");
  expect(sleepers.map(({ pid }) => procsOf(kept).concat(procsOf(foreign)).includes(String(pid)))).toEqual([
    ...[false, true, true],
  ]);
});
