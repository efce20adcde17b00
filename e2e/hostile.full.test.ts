import { afterAll, beforeAll, expect, test } from "vitest";
import { type HostileInstallation, startHostileInstallation } from "./hostile/installation.ts";
import { isExpected, type Kind, listKinds, wasTooSlow } from "./hostile/kinds.ts";

/**
 * One worker executes hostile runs, whose MCP servers, models and repositories attack it, 20 at a time, together with
 * runs of other members. All kinds of attacks take turns for ten minutes (OUTRIDER_HOSTILE_MINUTES changes it). The other
 * members' runs must all succeed on their first attempt. An attack that blocks the worker's event loop fails when it is
 * retried alone, so its run does not end as expected.
 */

const MINUTES = Number(process.env.OUTRIDER_HOSTILE_MINUTES ?? 10);
const HOSTILE_AT_ONCE = 20;
const MEMBERS = ["member-1", "member-2", "member-3", "member-4"];

let installation: HostileInstallation;
beforeAll(async () => {
  installation = await startHostileInstallation({ slots: HOSTILE_AT_ONCE + MEMBERS.length });
}, 180_000);
afterAll(async () => {
  await installation?.stop();
}, 180_000);

test("the runs of other members succeed on their first attempt while hostile runs attack their worker", {
  timeout: (MINUTES * 60 + 1_200) * 1_000,
}, async () => {
  const { addUser, execute, worker } = installation;
  const kinds = listKinds(installation, await addUser("attacker"));
  const end = performance.now() + MINUTES * 60_000;
  const problems: string[] = [];
  const tried = new Set<string>();
  /** The kinds of attacks that certainly took place. */
  const expected = new Set<string>();
  let started = 0;

  async function attack() {
    while (performance.now() < end) {
      const kind = kinds[started++ % kinds.length] as Kind;
      const run = await kind.execute().catch((error: Error) => error);
      if (run instanceof Error) {
        problems.push(`${kind.name}: ${run.message}`);
        return;
      }
      tried.add(kind.name);
      const { run_id, summary } = run;
      if (isExpected(kind, run)) expected.add(kind.name);
      else if (!wasTooSlow(run)) problems.push(`${kind.name}: ${run_id} ended with ${summary.slice(0, 500)}`);
    }
  }

  /** Executes runs of a member and returns how many have ended. */
  async function work(member: string) {
    const key = await addUser(member);
    let count = 0;
    for (; performance.now() < end; count++) {
      const { run_id, attempts, summary } = await execute(key, {
        prompt: "RUN: sleep 5 && echo finished\nSAY: done",
      });
      if (attempts !== 1 || !/^SUCCEEDED: .*finished/s.test(summary))
        problems.push(`${member}: ${run_id} took ${attempts} attempts and ended with ${summary}`);
    }
    return count;
  }

  const [counts] = await Promise.all([
    Promise.all(MEMBERS.map(work)),
    Promise.all(Array.from({ length: HOSTILE_AT_ONCE }, attack)),
  ]);
  console.log(
    `${tried.size} of ${kinds.length} kinds of attacks in ${started} runs; ${counts.join(", ")} runs of other members`,
  );
  for (const line of worker.failures()) console.log(line);
  expect(worker.hasEnded()).toBe(false);
  expect(problems).toEqual([]);
  for (const count of counts) expect(count).toBeGreaterThanOrEqual(Math.max(1, Math.floor(MINUTES / 2)));
  expect(tried.size).toBeGreaterThanOrEqual(HOSTILE_AT_ONCE);
  // On a busy machine, some runs reach a time limit instead.
  expect(expected.size).toBeGreaterThan(tried.size / 2);
  for (const kind of kinds.filter(({ name }) => /no.attack/.test(name)))
    expect(expected).toContain(kind.name);
});
