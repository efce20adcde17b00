import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { Cgroup } from "../src/sandboxes/cgroups/cgroup.ts";
import { type Capabilities, type Cgroups, openCgroups } from "../src/sandboxes/cgroups/cgroups.ts";
import { readHierarchies } from "../src/sandboxes/cgroups/hierarchies.ts";
import { findPlace } from "../src/sandboxes/cgroups/places.ts";
import { isRoot, until } from "./sandbox-support.ts";

const name = `test ${randomUUID()}`;
let cgroups: Cgroups;

beforeAll(async () => {
  cgroups = await openCgroups({ name });
});
afterAll(() => cgroups?.reap([]));

/** Where a limit cannot hold, the capability has to say why, and there is nothing more to see. */
function holds(resource: keyof Capabilities): boolean {
  const capability = cgroups.capabilities[resource];
  if (capability.enforced) return true;
  expect(capability.reason).toMatch(/cannot be (limited|stopped).*\(.+\): start the worker as root/);
  return false;
}

/** Joins the group as a launcher does, then becomes the command. */
function start(group: Cgroup, ...argv: string[]): ChildProcess {
  const join = `for file in ${group.procs.join(" ")}; do echo 0 > "$file" || exit 99; done; exec "$@"`;
  return spawn("/bin/sh", ["-c", join, "sh", ...argv], { stdio: ["ignore", "pipe", "ignore"] });
}

const procsOf = (group: Cgroup) =>
  group.procs.flatMap((file) => readFileSync(file, "utf8").match(/\d+/g) ?? []);

/** Goes with the test, however that ends. */
function made(group: Cgroup): Cgroup {
  onTestFinished(async () => {
    await group.kill();
    await group.remove();
  });
  return group;
}

/** In ticks of the kernel, 100 a second. */
function cpuTicks(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return Number(fields[11]) + Number(fields[12]);
}

const spin = "while :; do :; done";
/** Works for a while, whatever it does not share a group with. */
const work = () => spawnSync("python3", ["-c", "sum(range(3_000_000))"]);

test("root has every limit, where the kernel has the controllers", () => {
  const controllers = readFileSync("/proc/cgroups", "utf8");
  for (const [resource, controller] of [
    ["memory", "memory"],
    ["cpus", "cpu"],
    ["pids", "pids"],
    ["freeze", "freezer"],
  ] as const) {
    const inKernel = new RegExp(`^${controller}\\t.*\\t1$`, "m").test(controllers);
    if (!isRoot || !inKernel) holds(resource);
    else
      expect(cgroups.capabilities[resource]).toEqual({
        enforced: true,
        by: expect.stringMatching(/^cgroup v/),
      });
  }
});

describe("a limit", () => {
  test("of memory kills who takes too much, alone", async () => {
    if (!holds("memory")) return;
    const group = made(cgroups.make("memory", { memory_mb: 64 }));
    const bystander = start(group, "sleep", "1000");
    const [, signal] = await once(start(group, "python3", "-c", "bytearray(b'x') * (300 << 20)"), "exit");
    expect(signal).toBe("SIGKILL");
    expect(group.happened()).toEqual({ oom_kills: 1, forks_refused: 0 });
    expect(bystander.exitCode ?? bystander.signalCode).toBeNull();
  });

  test("of processes refuses the next one", async () => {
    if (!holds("pids")) return;
    const group = made(cgroups.make("pids", { pids: 12 }));
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
    expect(group.happened()).toEqual({ oom_kills: 0, forks_refused: 1 });
  });

  test("of processors slows down", async () => {
    if (!holds("cpus")) return;
    const group = made(cgroups.make("cpus", { cpus: 0.1 }));
    const child = start(group, "/bin/sh", "-c", spin);
    const throttled = () =>
      group.procs
        .map((file) => join(dirname(file), "cpu.stat"))
        .map((file) => (existsSync(file) ? readFileSync(file, "utf8") : ""))
        .flatMap((stat) => /nr_throttled (\d+)/.exec(stat)?.[1] ?? [])
        .some((count) => Number(count) >= 10);
    const begun = performance.now();
    await until(throttled);
    const wholeTicks = (performance.now() - begun) / 10;
    expect(cpuTicks(child.pid as number) / wholeTicks).toBeLessThan(0.3);
  });
});

describe("a group", () => {
  test("stops, and goes on", async () => {
    if (!holds("freeze")) return;
    const group = made(cgroups.make("freeze", {}));
    const { pid = 0 } = start(group, "/bin/sh", "-c", spin);
    await until(() => cpuTicks(pid) > 2);
    await group.freeze();
    const before = cpuTicks(pid);
    work();
    expect(cpuTicks(pid)).toBe(before);
    await group.thaw();
    await until(() => cpuTicks(pid) > before);
  });

  test("dies whole, stopped or forking", async () => {
    if (!holds("pids") || !holds("freeze")) return;
    const group = made(cgroups.make("kill", { pids: 100 }));
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

  test("is stopped and killed by the means of v1 where there is no v2", async () => {
    const freezer = readHierarchies().find(({ controllers }) => controllers.includes("freezer"));
    const place = freezer && (await findPlace(freezer, ["freezer"], `outrider-test-${randomUUID()}`)).place;
    if (!place) return void holds("freeze");
    const folder = join(place.parent, `outrider-test-${randomUUID()}`);
    mkdirSync(folder);
    const group = made(new Cgroup([{ ...place, folder }]));
    const { pid = 0 } = start(group, "bash", "-c", "for i in 1 2 3 4; do (while :; do :; done) & done; wait");
    await until(() => procsOf(group).length === 5);
    await group.freeze();
    const before = cpuTicks(pid);
    work();
    expect(cpuTicks(pid)).toBe(before);
    await group.kill();
    expect(procsOf(group)).toEqual([]);
  });
});

test("a later worker of the same name removes what was left, and nothing of another's", async () => {
  if (!holds("freeze")) return;
  const [left, kept] = [made(cgroups.make("left", {})), made(cgroups.make("kept", {}))];
  const others = await openCgroups({ name: `${name} of another` });
  const foreign = made(others.make("left", {}));
  const sleepers = [left, kept, foreign].map((group) => start(group, "sleep", "1000"));
  await until(() => [left, kept, foreign].every((group) => procsOf(group).length === group.procs.length));

  const later = await openCgroups({ name });
  expect(await later.reap(["kept"])).toEqual(["left"]);
  expect(() => procsOf(left)).toThrow("ENOENT");
  expect(sleepers.map(({ pid }) => procsOf(kept).concat(procsOf(foreign)).includes(String(pid)))).toEqual([
    ...[false, true, true],
  ]);
});
