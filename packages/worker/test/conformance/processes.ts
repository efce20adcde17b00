import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Sandbox } from "../../src/sandboxes/sandbox.ts";
import { run, until } from "../sandboxes/sandbox-support.ts";
import {
  collect,
  describePlace,
  type Fixture,
  makeMarker,
  serveText,
  signal,
  untilItWorks,
} from "./fixture.ts";
import type { Place } from "./place.ts";

/** Processes that outlive their command, and what ends them. */
export function testProcesses(place: Place): void {
  describePlace("processes", place, defineTests);
}

function defineTests(getFixture: () => Fixture): void {
  describe("background processes of a command", () => {
    /** Starts children in every way that outlives a parent. All have the marker in their command line. */
    const stubborn = (marker: string) => `
    setsid sleep ${marker} &
    nohup sleep ${marker} > /dev/null 2>&1 &
    (setsid bash -c 'trap "" TERM INT HUP; while :; do sleep ${marker}; done' > /dev/null 2>&1 &)
    disown -a`;
    const spawnStubborn = (marker: string, then: string) =>
      `${stubborn(marker)}\n trap "" TERM INT HUP\n ${then}`;

    test("run on, reachable by the next command, until the sandbox is killed", async () => {
      const { open, processesWith } = getFixture();
      const marker = makeMarker();
      const own = await open();
      const waitForAll = `until [ $(pgrep -c -x sleep) = 3 ]; do sleep 0.02; done; echo up`;
      const { stdout, exitCode } = await run(own, `${stubborn(marker)}\n ${waitForAll}`);
      expect({ stdout, exitCode }).toEqual({ stdout: "up\n", exitCode: 0 });
      await run(own, `(${serveText(8000, "served")}) > /dev/null 2>&1 & echo kept > file`);
      const get = "cat < /dev/tcp/127.0.0.1/8000";
      await until(async () => (await run(own, get)).stdout === "served\n");
      expect((await run(own, "pgrep -c -x sleep; pgrep -c perl")).stdout).toBe("3\n1\n");
      await own.kill();
      expect(await processesWith(marker)).toEqual([]);
      expect((await run(own, "pgrep -c -x sleep; cat file")).stdout).toBe("0\nkept\n");
      await own.close();
    });

    test("can print after their command, without blocking and unseen", async () => {
      const { open } = getFixture();
      const own = await open();
      const late =
        "(until [ -e go ]; do sleep 0.02; done; head -c 1000000 /dev/zero; touch finished) & echo up";
      expect((await run(own, late)).stdout).toBe("up\n");
      await own.write("go", Buffer.from(""));
      await until(async () => (await run(own, "ls finished")).exitCode === 0);
      await own.close();
    });

    test("are killed after a timeout", async () => {
      const { sandbox, processesWith, sleepersOf } = getFixture();
      const marker = makeMarker();
      const running = run(sandbox, spawnStubborn(marker, "while :; do sleep 1; done"), { timeoutMs: 1500 });
      await until(async () => (await sleepersOf(marker)).length === 3);
      expect(await running).toMatchObject({ exitCode: null, signal: "SIGKILL", timedOut: true });
      expect(await processesWith(marker)).toEqual([]);
    });

    test("are killed after an abort at any moment", async () => {
      const { sandbox, processesWith, sleepersOf } = getFixture();
      for (const wait of [0, 1, 2, 4, 8, 16, 32, undefined]) {
        const marker = makeMarker();
        const controller = new AbortController();
        const command = spawnStubborn(marker, "while :; do sleep 1; done");
        const running = run(sandbox, command, { signal: controller.signal });
        if (wait === undefined) {
          await until(async () => (await sleepersOf(marker)).length === 3);
          controller.abort();
        } else {
          setTimeout(() => controller.abort(), wait);
        }
        expect(await running).toMatchObject({ exitCode: null, signal: "SIGKILL", timedOut: false });
        expect(await processesWith(marker)).toEqual([]);
      }
    });

    test("are killed by kill, which affects only this sandbox and keeps its files", async () => {
      const { sandbox, open, processesWith, sleepersOf } = getFixture();
      const other = await open();
      const [marker, otherMarker] = [makeMarker(), makeMarker()];
      const running = run(sandbox, spawnStubborn(marker, `touch kept; sleep ${marker}`));
      const running2 = run(other, `sleep ${otherMarker}`);
      await until(
        async () => (await sleepersOf(marker)).length === 4 && (await sleepersOf(otherMarker)).length === 1,
      );
      await sandbox.kill();
      expect(await processesWith(marker)).toEqual([]);
      expect(await processesWith(otherMarker)).not.toEqual([]);
      expect(await running).toMatchObject({ exitCode: null, signal: "SIGKILL", timedOut: false });
      expect((await run(sandbox, "ls kept")).exitCode).toBe(0);
      await other.close();
      expect(await running2).toMatchObject({ signal: "SIGKILL" });
      expect(await processesWith(otherMarker)).toEqual([]);
      await expect(run(other, "true")).rejects.toThrow("closed");
    });
  });

  describe("a hostile command", () => {
    let own: Sandbox;
    beforeAll(async () => {
      own = await getFixture().open();
    });
    afterAll(() => own?.close());
    const expectWorking = async () => {
      if (getFixture().system.pod?.hasExposedConnection) await untilItWorks(own);
      expect((await run(own, "echo on")).stdout).toBe("on\n");
    };

    test("ends itself when it kills all processes, with its descendants, and the next command runs", async () => {
      const { processesWith, sleepersOf, system } = getFixture();
      const marker = makeMarker();
      const other = run(own, `sleep ${marker}`);
      await until(async () => (await sleepersOf(marker)).length === 1);
      const all = await run(own, `setsid sleep ${marker} & kill -9 -1; while :; do :; done`);
      const exitCodes = system.pod?.hasExposedConnection ? [137, null] : [137];
      expect(exitCodes).toContain(all.exitCode);
      expect(exitCodes).toContain((await other).exitCode);
      expect(all.timedOut).toBe(false);
      expect(await processesWith(marker)).toEqual([]);
      await expectWorking();
    });

    test("loses the processes that it left behind when it kills their supervisor", async () => {
      const { processesWith, sleepersOf } = getFixture();
      const marker = makeMarker();
      await run(own, `setsid sleep ${marker} > /dev/null 2>&1 &`);
      await until(async () => (await sleepersOf(marker)).length === 1);
      await run(own, `kill -9 $(ps -o ppid= -C sleep)`);
      await until(async () => (await processesWith(marker)).length === 0);
      await expectWorking();
    });

    test("cannot stop its supervisor or init, or ends itself with them", async () => {
      const { hasOwnKernel } = getFixture().system;
      const { exitCode } = await run(own, "kill -STOP -1; kill -STOP 1; kill -9 1; exit 5");
      expect(exitCode).toBe(hasOwnKernel ? null : 5);
      await expectWorking();
    });

    test("cannot attach to init or to its supervisor", async () => {
      const { stdout } = await run(
        own,
        "for p in 1 $PPID; do perl -e 'print syscall(101, 16, $ARGV[0] + 0, 0, 0) < 0 ? $! : 0' $p; readlink -v /proc/$p/fd/3; cat /proc/$p/environ; done 2>&1",
      );
      expect(stdout).toMatch(process.arch === "x64" ? /^Operation not permitted/ : /denied/);
      // Everything in it is in the sandbox anyway.
      if (!getFixture().system.hasOwnKernel) expect(stdout.match(/denied/g)).toHaveLength(4);
    });

    test("that forks without end is killed with all its descendants", async () => {
      const { processesWith } = getFixture();
      const marker = makeMarker();
      const forks = `perl -e 'for (1..50) { next if fork; setpgrp; while (1) { fork and exit; select undef, undef, undef, 0.001 } } exec "sleep", "${marker}"'`;
      expect(await run(own, forks, { timeoutMs: 1000 })).toMatchObject({ timedOut: true, signal: "SIGKILL" });
      expect((await run(own, "pgrep -c perl")).stdout).toBe("0\n");
      expect(await processesWith(marker)).toEqual([]);
    });
  });

  describe("commands after a kill", () => {
    test("start only when all processes of before are gone, and share nothing with them", async () => {
      const { processesWith, open, system } = getFixture();
      const own = await open();
      // In a pod, init has another process for its connection.
      const expected = system.pod ? /^[4-6]\nls: .*No such file.*\n$/ : /^[3-5]\nls: .*No such file.*\n$/;
      // These processes change files as fast as they can. None of them may do so while the next command runs.
      const busy = (marker: string) => `
      for i in 1 2 3 4; do (trap "" TERM; setsid bash -c ': ${marker}; while :; do echo $RANDOM > busy; done' &) done
      until [ -s busy ]; do sleep 0.01; done; echo up; sleep ${marker}`;
      for (let round = 0; round < 5; round++) {
        const marker = makeMarker();
        const running = await own.spawn(busy(marker), { signal });
        const output = collect(running.stdout);
        running.stderr.resume();
        await until(() => output() === "up\n");
        const killed = own.kill();
        const next = run(own, "rm -f busy; ls -d /proc/[0-9]* | wc -l; sleep 0.05; ls busy 2>&1");
        const [{ stdout }] = await Promise.all([next, killed]);
        expect(await processesWith(marker)).toEqual([]);
        expect(stdout).toMatch(expected);
        expect(await running.ended).toEqual({ exitCode: null, signal: "SIGKILL" });
      }
      await own.close();
    });
  });
}
