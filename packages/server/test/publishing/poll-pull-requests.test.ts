import type { PublishPolicy } from "@outrider/contract/publish-policy";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { nextPollMs, REQUESTS_PER_MINUTE } from "../../src/engine/publishing/poll-pull-requests.ts";
import { MAX_AUTOMATIC_FOLLOWUPS } from "../../src/engine/publishing/review-followups.ts";
import { cancelRun } from "../../src/engine/runs/runs.ts";
import { ForgeError } from "../../src/forges/forge-client.ts";
import { deleteUser } from "../../src/store/auth/users.ts";
import { insertPublication } from "../../src/store/publications.ts";
import { takeForgeRequests } from "../../src/store/pull-requests.ts";
import { listFollowups } from "../../src/store/runs/followups.ts";
import { deleteRun, findRun } from "../../src/store/runs/runs.ts";
import { logOf, type TestEngine, testEngine } from "../engine.ts";
import { MemoryForge } from "./memory-forge.ts";
import { branch, deleteRuns, type Publishing, publishing } from "./published-run.ts";

let engine: TestEngine;
let forge: MemoryForge;
let it: Publishing;
let runId: string;

beforeAll(async () => {
  engine = await testEngine();
});
afterAll(() => engine.stop());

beforeEach(async () => {
  forge = new MemoryForge();
  it = publishing(engine, forge);
});
afterEach(() => deleteRuns(engine));

async function openedRun(follow_up: PublishPolicy["follow_up"] = {}): Promise<void> {
  runId = await it.endedRun({ follow_up });
  await it.pushed(runId, "c1");
  await it.open();
}

const rowOf = async () => (await engine.db`select * from pull_requests`)[0];
const messages = async () => (await listFollowups(engine.db, runId)).map(({ message }) => message);
const lastEvents = async (count: number) => {
  const rows =
    await engine.db`select type, data from events where run_id = ${runId} order by seq desc limit ${count}`;
  return [...rows].reverse();
};

describe("the state of a pull request", () => {
  beforeEach(() => openedRun());

  test("follows the forge", async () => {
    const before = await findRun(engine.db, runId);
    for (const state of ["open", "closed", "open", "merged"] as const) {
      forge.change(1, { state });
      await it.pollNow();
      expect(await lastEvents(1)).toEqual([
        {
          type: "pull_request.updated",
          data: expect.objectContaining({ number: 1, state, changes: ["state"] }),
        },
      ]);
      const run = await findRun(engine.db, runId);
      expect(run?.pull_requests).toMatchObject([{ number: 1, state }]);
      expect(run?.artifacts).toMatchObject([{ pull_request: { state } }]);
      expect(Date.parse(run?.updated_at as string)).toBeGreaterThan(Date.parse(before?.updated_at as string));
      const [row] = await engine.db`select r.pull_request_state, p.pull_request -> 'state' as published
        from runs r join publications p using (run_id)`;
      expect(row).toEqual({ pull_request_state: state, published: state });
    }
    // A merged pull request does not change any more.
    expect(await rowOf()).toMatchObject({ state: "merged", next_poll_at: null });
  });

  test("is read with an ETag, and nothing is written if nothing has changed", async () => {
    await it.pollNow();
    const before = await logOf(engine.db, runId);
    const { updated_at } = (await findRun(engine.db, runId)) as { updated_at: string };
    await it.pollNow();
    await it.pollNow();
    expect(await logOf(engine.db, runId)).toEqual(before);
    expect((await findRun(engine.db, runId))?.updated_at).toBe(updated_at);
    expect(forge.calls.slice(-2)).toEqual(["readPullRequest", "readPullRequest"]);
    expect(await rowOf()).toMatchObject({ etags: { pull_request: "pull 0" } });
  });

  test("includes commits and titles by others", async () => {
    forge.change(1, { head_commit: "theirs", title: "Their title" });
    await it.pollNow();
    expect(await lastEvents(1)).toMatchObject([
      { data: { title: "Their title", changes: ["commits", "title"] } },
    ]);
  });

  test("with a conflict is a notice, once per conflict", async () => {
    for (const mergeable of [false, true, false, false, false, undefined, true, false, false, true, false]) {
      forge.change(1, { ...(mergeable === undefined ? { title: "x" } : { mergeable }) });
      if (mergeable === undefined) delete forge.pulls[0]?.mergeable;
      await it.pollNow();
    }
    const notices = (await lastEvents(20)).filter(({ data }) => data.code === "pull_request_conflict");
    expect(notices).toHaveLength(2);
    expect(notices[0]?.data.message).toContain("conflicts with `main`");
    expect(await messages()).toEqual([]);
  });

  test("is deleted with the run", async () => {
    await engine.tx((tx) => deleteRun(tx, runId));
    expect(await rowOf()).toBeUndefined();
  });
});

describe("polling", () => {
  beforeEach(() => openedRun());

  test("gets slower the longer nothing happens, and ends", () => {
    const minutes = (count: number) => count * 60_000;
    expect(nextPollMs({ state: "open", unchangedMs: 0 })).toBe(30_000);
    expect(nextPollMs({ state: "open", unchangedMs: minutes(30) })).toBe(minutes(3));
    expect(nextPollMs({ state: "draft", unchangedMs: minutes(60 * 24) })).toBe(minutes(10));
    expect(nextPollMs({ state: "open", unchangedMs: minutes(60 * 24 * 14) })).toBeNull();
    expect(nextPollMs({ state: "closed", unchangedMs: minutes(60 * 12) })).toBe(minutes(10));
    expect(nextPollMs({ state: "closed", unchangedMs: minutes(60 * 24) })).toBeNull();
    expect(nextPollMs({ state: "merged", unchangedMs: 0 })).toBeNull();
  });

  test("waits until a pull request is due, and then reads it once, however many servers there are", async () => {
    await it.poll();
    const calls = forge.calls.length;
    await it.poll();
    expect(forge.calls.length).toBe(calls);
    await engine.db`update pull_requests set next_poll_at = outrider_now()`;
    await Promise.all([it.poll(), it.poll(), it.poll()]);
    expect(forge.calls.length).toBe(calls + 1);
  });

  test("stores nothing if another server has taken the pull request since", async () => {
    const reading = Promise.withResolvers<void>();
    const gate = Promise.withResolvers<void>();
    forge.before = async () => {
      reading.resolve();
      await gate.promise;
    };
    const first = it.poll();
    await reading.promise;
    forge.before = () => {};
    forge.change(1, { state: "merged" });
    await it.pollNow();
    const before = await logOf(engine.db, runId);
    forge.change(1, { state: "open" });
    gate.resolve();
    await first;
    expect(await logOf(engine.db, runId)).toEqual(before);
    expect(await rowOf()).toMatchObject({ state: "merged" });
  });

  test("waits for as long as a forge asks, for all of its pull requests", async () => {
    forge.before = () => {
      throw new ForgeError("rate_limited", "Too many requests.", { retryAfterMs: 600_000 });
    };
    await it.poll();
    const calls = forge.calls.length;
    await engine.db`update pull_requests set next_poll_at = outrider_now()`;
    await it.poll();
    expect(forge.calls.length).toBe(calls);
    expect(await takeForgeRequests(engine.db, { forgeId: forge.forgeId, count: 1, perMinute: 1_000 })).toBe(
      false,
    );
  });

  test("sends a bounded number of requests per minute", async () => {
    const [forgeId, perMinute] = [forge.forgeId, REQUESTS_PER_MINUTE];
    const taken = await engine.tx(async (tx) => {
      const at = (time: string) => tx`select set_config('outrider.now', ${time}, true)`;
      const take = (count: number) => takeForgeRequests(tx, { forgeId, count, perMinute });
      await at("2030-01-01T00:00:10Z");
      const first = [await take(perMinute - 1), await take(2), await take(1), await take(1)];
      await at("2030-01-01T00:01:00Z");
      return [...first, await take(1)];
    });
    expect(taken).toEqual([true, false, true, false, true]);
  });

  test("backs off while the forge is down or the token is revoked, and recovers", async () => {
    forge.before = () => {
      throw new ForgeError("unauthorized", "The token was revoked.");
    };
    await it.pollNow();
    await it.pollNow();
    const [row] =
      await engine.db`select poll_failures, extract(epoch from next_poll_at - outrider_now())::int as wait
      from pull_requests`;
    expect(row).toMatchObject({ poll_failures: 2 });
    expect(row?.wait).toBeGreaterThan(50);
    forge.before = () => {};
    forge.change(1, { state: "merged" });
    await it.pollNow();
    expect(await rowOf()).toMatchObject({ state: "merged", poll_failures: 0 });
  });

  test("ends if the forge was disconnected", async () => {
    forge.isConnected = false;
    await it.pollNow();
    expect(await rowOf()).toMatchObject({ next_poll_at: null, state: "draft" });
  });
});

describe("comments", () => {
  test("of people who may write become one follow-up, exactly once", async () => {
    await openedRun({ comments: true });
    forge.comment({ kind: "review_comment", path: "src/a.ts", line: 12, body: "Rename it.\n> Why?" });
    forge.comment({ kind: "review", author: "bob", body: "Almost." });
    forge.comment({ body: "by a stranger", isTrusted: false });
    forge.comment({ body: "from a bot", isBot: true });
    forge.comment({ body: "<!-- outrider run 1 -->" });
    forge.comment({ kind: "review", body: "  " });
    await engine.db`update pull_requests set next_poll_at = outrider_now()`;
    await Promise.all([it.poll(), it.poll()]);
    await it.pollNow();
    const [message, ...others] = await messages();
    expect(others).toEqual([]);
    expect(message).toContain(
      "Review comment by alice on `src/a.ts` line 12 (https://git.test/acme/api/pulls/1#1):\n> Rename it.\n> > Why?",
    );
    expect(message).toContain("Review by bob (https://git.test/acme/api/pulls/1#2):\n> Almost.");
    for (const other of ["by a stranger", "from a bot", "outrider run", "#6"])
      expect(message).not.toContain(other);
    expect(message).toMatch(/^There is feedback on your pull request acme\/api#1 .* come from outside/);
    expect(await findRun(engine.db, runId)).toMatchObject({ state: "QUEUED", turns: 2 });
    expect(await lastEvents(1)).toMatchObject([{ type: "run.reopened", data: { by: engine.admin.creator } }]);
  });

  test("that come later become another follow-up", async () => {
    await openedRun({ comments: true });
    for (const body of ["First.", "Second."]) {
      forge.comment({ body });
      await it.pollNow();
      await it.endTurn();
      await it.pollNow();
    }
    expect((await messages()).map((message) => /> (.*)/.exec(message)?.[1])).toEqual(["First.", "Second."]);
  });

  test("are ignored if the policy does not allow follow-ups", async () => {
    await openedRun();
    forge.comment({});
    await it.pollNow();
    expect(await messages()).toEqual([]);
    expect(forge.calls).not.toContain("listComments");
  });

  test("wait while the run is in progress", async () => {
    await openedRun({ comments: true });
    forge.comment({ body: "First." });
    await it.pollNow();
    const [assignment] = await engine.claim();
    expect(assignment?.run_id).toBe(runId);
    forge.comment({ body: "Second." });
    await it.pollNow();
    expect(await messages()).toHaveLength(1);
    await engine.db`update run_state set state = 'SUCCEEDED', execution_id = null`;
    await engine.db`update runs set state = 'SUCCEEDED'`;
    await it.pollNow();
    expect((await messages()).at(-1)).toContain("> Second.");
  });

  test("wait while the run waits for approval", async () => {
    await openedRun({ comments: true });
    const publication_id = "01890000-0000-7000-8000-000000000009";
    await engine.tx((tx) =>
      insertPublication(tx, {
        ...{ publication_id, run_id: runId, turn: 1, path: "api", repository: "https://git.test/acme/api" },
        ...{
          kind: "pull_request",
          state: "AWAITING_APPROVAL",
          branch,
          base_commit: "0",
          tip: "c2",
          title: "A",
        },
        ...{ body: "", options: {}, files_changed: 1, diff_bytes: 1, requested_by: { type: "policy" } },
      }),
    );
    forge.comment({});
    await it.pollNow();
    expect(await messages()).toEqual([]);
    await engine.db`update publications set state = 'REJECTED'`;
    await it.pollNow();
    expect(await messages()).toHaveLength(1);
  });

  test("do not continue a run that was cancelled", async () => {
    await openedRun({ comments: true });
    forge.comment({});
    await it.pollNow();
    await engine.tx((tx) => cancelRun(tx, engine.admin, runId));
    forge.comment({});
    await it.pollNow();
    expect(await messages()).toHaveLength(1);
  });

  test("are not sent on behalf of a deleted user", async () => {
    await openedRun({ comments: true });
    await engine.tx((tx) => deleteUser(tx, engine.admin.creator.uid));
    forge.comment({});
    await it.pollNow();
    await it.pollNow();
    expect(await messages()).toEqual([]);
    expect(await lastEvents(1)).toMatchObject([
      { data: { message: "The creator of the run no longer exists." } },
    ]);
  });

  test("continue a run a limited number of times", async () => {
    await openedRun({ comments: true });
    await engine.db`update pull_requests set followup_count = ${MAX_AUTOMATIC_FOLLOWUPS - 1}`;
    forge.comment({});
    await it.pollNow();
    await it.endTurn();
    forge.comment({});
    await it.pollNow();
    expect(await messages()).toHaveLength(1);
    const notices = (await lastEvents(20)).filter(({ data }) => data.code === "review_followups");
    expect(notices[0]?.data.message).toContain(`continued ${MAX_AUTOMATIC_FOLLOWUPS} times`);
  });
});

describe("failed checks", () => {
  const failed = {
    id: "7",
    name: "build",
    conclusion: "failure",
    log_tail: "step\n```\nboom",
    summary: "1 failed",
  };

  test("of the pushed commit become one follow-up when all checks have ended", async () => {
    await openedRun({ checks: true });
    forge.checks = { isComplete: false, checks: [failed] };
    await it.pollNow();
    expect(await messages()).toEqual([]);
    forge.checks = { isComplete: true, checks: [failed] };
    await it.pollNow();
    await it.endTurn();
    await it.pollNow();
    const [message, ...others] = await messages();
    expect(others).toEqual([]);
    expect(message).toContain(
      'The check "build" failed: failure.\n> 1 failed\nThe end of its log:\n````\nstep',
    );
    // The agent repairs it, but the next commit fails as well.
    await it.pushed(runId, "c2");
    await it.open();
    await it.pollNow();
    expect(await messages()).toHaveLength(2);
  });

  test("of commits by others are not sent", async () => {
    await openedRun({ checks: true });
    forge.checks = { isComplete: true, checks: [failed] };
    forge.change(1, { head_commit: "theirs" });
    await it.pollNow();
    expect(await messages()).toEqual([]);
  });

  test("include a conflict, once per commit", async () => {
    await openedRun({ checks: true });
    forge.change(1, { mergeable: false });
    await it.pollNow();
    expect(await messages()).toEqual([]);
    await it.pollNow();
    await it.endTurn();
    await it.pollNow();
    const [message, ...others] = await messages();
    expect(others).toEqual([]);
    expect(message).toContain("The branch conflicts with `main`");
  });
});
