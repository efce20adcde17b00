import { describe, expect, test } from "vitest";
import { DeadlinePassedError } from "../../src/sandboxes/sandbox.ts";
import { inMs, run } from "../sandboxes/sandbox-support.ts";
import { describePlace, type Fixture } from "./fixture.ts";
import type { Place } from "./place.ts";

/** How sandboxes end, and what a later worker finds. */
export function testLifecycle(place: Place): void {
  describePlace("lifecycle", place, defineTests);
}

function defineTests(getFixture: () => Fixture): void {
  describe("close", () => {
    test("removes files with any mode, depth and name", async () => {
      const { open, provider } = getFixture();
      const [other, count] = [await open(), provider.count()];
      await run(
        other,
        `mkdir -p a/b/c; touch a/b/c/d; chmod 000 a/b/c a/b a; mkdir deep; cd deep
       long=$(printf 'dddddddd/%.0s' {1..200}); for i in {1..8}; do mkdir -p $long && cd $long; done; chmod 500 .
       cd /workspace; touch ./-rf $'x\\ny'; mkdir ~/z; chmod 000 ~/z /tmp; mkfifo f; chmod 000 /workspace`,
      );
      await other.close();
      expect(provider.count()).toBe(count - 1);
      await other.close();
    });

    test("makes the id available again", async () => {
      const { open } = getFixture();
      const first = await open({ id: "twice" });
      await expect(open({ id: "twice" })).rejects.toThrow(/exist/i);
      await first.close();
      await (await open({ id: "twice" })).close();
      await expect(open({ id: "../twice" })).rejects.toThrow("not a valid sandbox id");
      await expect(open({ id: ".etc" })).rejects.toThrow("not a valid sandbox id");
    });
  });

  test("a deadline ends all commands, and later ones are rejected until it is extended", async () => {
    const { open, place } = getFixture();
    const sandbox = await open({ deadline: inMs(700 + place.startMs) });
    expect(await run(sandbox, "setsid sleep 1000 & sleep 1000")).toMatchObject({
      exitCode: null,
      timedOut: false,
    });
    await expect(run(sandbox, "true")).rejects.toThrow(DeadlinePassedError);
    sandbox.extendDeadline(inMs(60_000));
    expect((await run(sandbox, "pgrep -c -x sleep; echo on")).stdout).toBe("0\non\n");
    // An earlier time is ignored.
    sandbox.extendDeadline(inMs(0));
    expect((await run(sandbox, "echo on")).stdout).toBe("on\n");
    await sandbox.close();
  });

  test("reap removes leftovers of an earlier worker, except open sandboxes and those to keep", async () => {
    const { provider, sandbox, openAgain, image } = getFixture();
    const earlier = await openAgain();
    const opened = async (id: string, worker: string) => {
      const options = { id, deadline: inMs(60_000), label: { worker }, ...(image ? { image } : {}) };
      const left = await earlier.open(options);
      await run(left, "mkdir x && touch x/y && chmod 000 x");
    };
    await opened("left", "dead");
    await opened("kept", "alive");
    await earlier.stop();
    expect(await provider.reap(({ worker }) => worker === "alive")).toEqual(["left"]);
    expect((await run(sandbox, "true")).exitCode).toBe(0);
    expect(await provider.reap(() => false)).toEqual(["kept"]);
    expect(await provider.reap(() => false)).toEqual([]);
  });
}
