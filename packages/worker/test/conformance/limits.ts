import { describe, expect, test } from "vitest";
import { LimitNotEnforceableError, type Limits } from "../../src/sandboxes/limits.ts";
import type { Sandbox } from "../../src/sandboxes/sandbox.ts";
import { run, until } from "../sandboxes/sandbox-support.ts";
import { describePlace, type Fixture, signal } from "./fixture.ts";
import type { Place } from "./place.ts";

/** Limits of memory, CPU, processes and disk, and the freezer. */
export function testLimits(place: Place): void {
  describePlace("limits", place, defineTests);
}

const limitFields = { memory: "memory_mb", cpus: "cpus", pids: "pids", disk: "disk_mb" } as const;

/**
 * Opens a sandbox with these limits. If the host cannot enforce one of them, checks the error and returns undefined.
 */
async function openWith({ provider, open }: Fixture, limits: Limits) {
  const control = (Object.keys(limitFields) as (keyof typeof limitFields)[]).find(
    (each) => limits[limitFields[each]] !== undefined && !provider.capabilities()[each].enforced,
  );
  if (!control) return await open({ limits });
  const error = await open({ limits }).catch((reason) => reason);
  expect(error).toBeInstanceOf(LimitNotEnforceableError);
  expect(error).toMatchObject({ field: limitFields[control] });
  expect(error.message).toMatch(
    new RegExp(`^limits\\.${limitFields[control]} cannot be enforced on this worker: .*\\.$`),
  );
  return undefined;
}

/** The kubelet measures the disk space of pods about once a minute. */
async function expectEviction(sandbox: Sandbox): Promise<void> {
  expect(sandbox.enforced.disk).toMatchObject({ enforced: true, by: expect.stringContaining("eviction") });
  await run(sandbox, "head -c 100M /dev/zero > big");
  await until(
    () =>
      run(sandbox, "true")
        .then(({ exitCode }) => exitCode !== 0)
        .catch((error) => {
          expect(error.message).toMatch(
            /^The node evicted the pod of the sandbox: .*limit.* Use less disk space/,
          );
          return true;
        }),
    200_000,
  );
  await sandbox.close();
}

function defineTests(getFixture: () => Fixture): void {
  describe("limits", () => {
    test("are enforced as the place declares, or the reason is a sentence", () => {
      const { place, provider } = getFixture();
      for (const [control, capability] of Object.entries(provider.capabilities())) {
        const declared = place.capabilities[control as keyof typeof place.capabilities];
        expect([control, capability.enforced]).toEqual([control, declared ?? capability.enforced]);
        if (!capability.enforced) expect(capability.reason).toMatch(/^[A-Z].*\.$/);
      }
    });

    test("are listed in `enforced`", async () => {
      const { provider, open } = getFixture();
      const sandbox = await open({ limits: provider.capabilities().pids.enforced ? { pids: 77 } : {} });
      const { pids, cpus, network, seccomp } = sandbox.enforced;
      if (provider.capabilities().pids.enforced) expect(pids).toMatchObject({ enforced: true, limit: 77 });
      else expect(pids).toMatchObject({ enforced: false, reason: expect.stringMatching(/\.$/) });
      expect(cpus).toMatchObject({ enforced: false });
      expect(network).toMatchObject({ enforced: true });
      expect(seccomp).toMatchObject({ enforced: true });
      const mode = getFixture().system.hasOwnKernel ? 0 : 2;
      expect((await run(sandbox, "grep Seccomp: /proc/self/status")).stdout).toBe(`Seccomp:\t${mode}\n`);
      await sandbox.close();
    });

    test("kill a command that exceeds the memory limit, but not the next command", async () => {
      const sandbox = await openWith(getFixture(), { memory_mb: 100 });
      if (!sandbox) return;
      const hog = await run(sandbox, "head -c 300M /dev/zero | tail -c 300M | wc -c");
      expect(hog.stdout.trim()).not.toBe(String(300 * 2 ** 20));
      expect((await sandbox.limitEvents()).oom_kills).toBeGreaterThan(0);
      expect((await run(sandbox, "echo on")).stdout).toBe("on\n");
      await sandbox.close();
    });

    test("count the processes of all commands together", async () => {
      const sandbox = await openWith(getFixture(), { pids: 30 });
      if (!sandbox) return;
      const many = await sandbox.spawn("for i in {1..20}; do sleep 1000 & done; echo up; wait", { signal });
      await new Promise((resolve) => many.stdout.once("data", resolve));
      const { stderr } = await run(sandbox, "for i in {1..20}; do sleep 0.1 & done; wait");
      expect(stderr).toContain("fork");
      expect((await sandbox.limitEvents()).forks_refused).toBeGreaterThan(0);
      await many.kill();
      expect((await run(sandbox, "for i in {1..20}; do sleep 0 & done; wait; echo on")).stdout).toBe("on\n");
      await sandbox.close();
    });

    test("reject a command with a clear error when earlier ones have used up the processes, and stop those", async () => {
      const sandbox = await openWith(getFixture(), { pids: 20 });
      if (!sandbox) return;
      const fill = `perl -e 'for (1..30) { my $pid = fork; if (defined $pid && !$pid) { exec "sleep", "1000" } }'`;
      await run(sandbox, `exec ${fill}`);
      await expect(run(sandbox, "echo on")).rejects.toThrow(
        "reached its process limit, so all processes that earlier commands left running were stopped. Run",
      );
      expect((await run(sandbox, "echo on")).stdout).toBe("on\n");
      await sandbox.close();
    });

    test("throttle CPU use", async () => {
      const sandbox = await openWith(getFixture(), { cpus: 0.2 });
      if (!sandbox) return;
      const { stdout } = await run(
        sandbox,
        "timeout 1 bash -c 'while :; do :; done'; cut -d' ' -f16,17 /proc/$$/stat",
      );
      // Ticks are hundredths of a second. This is less than half of one CPU during that second.
      const ticks = stdout.trim().split(" ").map(Number);
      // A kernel in the sandbox does not notice every pause.
      const max = getFixture().system.hasOwnKernel ? 90 : 50;
      expect(ticks.reduce((sum, each) => sum + each, 0)).toBeLessThan(max);
      await sandbox.close();
    });
  });

  describe("a disk limit", () => {
    test("applies to all folders, and a snapshot of a full disk still works", async () => {
      const sandbox = await openWith(getFixture(), { disk_mb: 32 });
      if (!sandbox) return;
      if (getFixture().system.pod?.isEvicted) return await expectEviction(sandbox);
      await run(sandbox, "echo precious > file");
      const system = getFixture().system.isImage ? ["/var"] : [];
      for (const folder of ["/workspace", "~", "/tmp", ...system]) {
        const { stderr } = await run(sandbox, `head -c 100M /dev/zero > ${folder}/big`);
        expect([folder, stderr]).toEqual([folder, expect.stringContaining("No space left")]);
        await run(sandbox, `rm ${folder}/big`);
      }
      await run(sandbox, "head -c 100M /dev/zero > big; rm -f small; echo > small");
      const other = await getFixture().open();
      await other.restore(sandbox.snapshot());
      expect((await run(other, "cat file")).stdout).toBe("precious\n");
      await sandbox.close();
      await other.close();
    });

    test("applies over a base, and a differential snapshot of a full disk still works", async () => {
      const origin = await openWith(getFixture(), { disk_mb: 32 });
      if (!origin || getFixture().system.pod?.isEvicted) return;
      const { provider, open } = getFixture();
      await run(origin, "mkdir d; echo base > d/file; echo gone > d/gone");
      await provider.saveBase(origin, "base");
      const [full, other] = [
        await open({ base: "base", limits: { disk_mb: 32 } }),
        await open({ base: "base" }),
      ];
      const { stderr } = await run(full, "rm d/gone; echo more >> d/file; head -c 100M /dev/zero > ~/big");
      expect(stderr).toContain("No space left");
      await other.restore(full.snapshot());
      expect((await run(other, "ls d; cat d/file")).stdout).toBe("file\nbase\nmore\n");
      await full.close();
      await other.close();
    });
  });

  describe("a frozen sandbox", () => {
    test("pauses until it is thawed, and can be killed and closed while frozen", async () => {
      const { provider, open } = getFixture();
      const sandbox = await open();
      const ticker = await sandbox.spawn("while echo; do sleep 0.01; done", { signal });
      let ticks = 0;
      ticker.stdout.on("data", () => ticks++);
      await until(() => ticks > 3);
      const { freezer } = sandbox;
      expect(freezer !== undefined).toBe(provider.capabilities().freeze.enforced);
      if (!freezer) return await sandbox.close();
      await freezer.freeze();
      await expect(run(sandbox, "true")).rejects.toThrow("frozen");
      await until(() => ticker.stdout.readableLength === 0);
      const frozen = ticks;
      // Another sandbox runs commands in the meantime.
      const other = await open();
      for (let n = 0; n < 3; n++) await run(other, "sleep 0.05");
      expect(ticks).toBeLessThanOrEqual(frozen + 1);
      await freezer.thaw();
      await until(() => ticks > frozen + 3);
      expect((await run(sandbox, "echo on")).stdout).toBe("on\n");
      await freezer.freeze();
      await sandbox.kill();
      expect(await ticker.ended).toEqual({ exitCode: null, signal: "SIGKILL" });
      expect((await run(sandbox, "echo on")).stdout).toBe("on\n");
      await freezer.freeze();
      await sandbox.close();
      await other.close();
    });
  });
}
