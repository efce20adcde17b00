import type { NewEvent } from "@outrider/contract/event";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { waitOptions } from "../../../../scripts/tests/wait-options.ts";
import { ForgeError } from "../../src/forges/forge-client.ts";
import { toPublication } from "../../src/store/publications.ts";
import { appendEngineEvents } from "../../src/store/runs/events.ts";
import { listRuns } from "../../src/store/runs/run-list.ts";
import { findRun } from "../../src/store/runs/runs.ts";
import { isFull, logOf, type TestEngine, testEngine } from "../engine.ts";
import { createRandom } from "../runs/list/random.ts";
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
  runId = await it.endedRun();
});
afterEach(() => deleteRuns(engine));

const linesOf = async () => (await logOf(engine.db, runId)).slice(3);
const makeDue = () =>
  engine.db`update publications set next_attempt_at = outrider_now() where state = 'PUSHED'`;
const expectDone = (id: string) =>
  vi.waitFor(async () => expect((await it.publication(id)).state).toBe("DONE"), waitOptions);
const lastEvent = async () => {
  const [row] =
    await engine.db`select type, data from events where run_id = ${runId} order by seq desc limit 1`;
  return row;
};

test("opens a pull request and shows it with the run", async () => {
  await engine.db`
    update run_state set usage = '{"input_tokens": 1, "cached_input_tokens": 0, "output_tokens": 1, "cost_usd": 1.5,
      "steps": 1, "run_seconds": 1}'`;
  const options = { labels: ["bot"], reviewers: ["nobody"], issues: ["#12", "twelve"] };
  const id = await it.pushed(runId, "c1", { options });
  await it.open();
  expect(forge.pulls).toEqual([
    expect.objectContaining({ state: "draft", title: "Fix the parser", base: "main", labels: ["bot"] }),
  ]);
  const body = forge.pulls[0]?.body;
  for (const part of ["Fixed it.", "Closes #12", `(https://outrider.test/runs/${runId})`, "cost $1.50"])
    expect(body).toContain(part);
  const pullRequest = {
    ...{ number: 1, url: "https://git.test/acme/api/pulls/1", repository: "acme/api", branch, base: "main" },
    ...{ state: "draft", title: "Fix the parser" },
  };
  expect(toPublication(await it.publication(id))).toMatchObject({
    state: "DONE",
    pull_request: pullRequest,
    warnings: [expect.stringContaining("`twelve` is not an issue"), "Reviewer nobody was not found."],
  });
  expect(await lastEvent()).toEqual({ type: "pull_request.opened", data: pullRequest });
  const run = await findRun(engine.db, runId);
  expect(run?.pull_requests).toEqual([pullRequest]);
  expect(run?.artifacts).toEqual([
    expect.objectContaining({ artifact_type: "PULL_REQUEST", pull_request: pullRequest }),
  ]);
  const sort = { by: "created_at", order: "desc" } as const;
  const listed = await listRuns(engine.db, { filter: { pull_request_state: ["draft"] }, sort, limit: 10 });
  expect(listed.runs.map(({ run_id, pull_requests }) => [run_id, pull_requests])).toEqual([
    [runId, [pullRequest]],
  ]);
});

test("lists the checks that ran in the turn of the publication", async () => {
  const ran = (id: string, command: string, exit_code?: number): NewEvent[] => [
    { type: "command.started", data: { command_id: id, command } },
    {
      type: "command.finished",
      data: { command_id: id, duration_ms: 1, ...(exit_code === undefined ? {} : { exit_code }) },
    },
  ];
  const changed: NewEvent = { type: "file.changed", data: { path: "a.ts", kind: "modified", patch: "" } };
  const events = [
    ...ran("1", "npm test", 1),
    changed,
    ...ran("2", "npm test\n# again `now`", 0),
    ...ran("3", "make lint"),
  ];
  await engine.tx((tx) => appendEngineEvents(tx, runId, events));
  await it.pushed(runId, "c1");
  await it.pushed(runId, "c2", { turn: 2, branch: "outrider/other" });
  await it.open();
  expect(forge.pulls.find((pull) => pull.branch === branch)?.body).toContain(
    "- `` npm test # again `now` ``: exit code 0\n- `make lint`: was stopped\n- `npm test`: exit code 1 (before the last change)",
  );
  expect(forge.pulls.find((pull) => pull.branch !== branch)?.body).toContain(
    "No checks ran in the last turn.",
  );
});

test("a later push updates the pull request, but not a title that people have changed", async () => {
  await it.pushed(runId, "c1");
  await it.open();
  await it.pushed(runId, "c2", { title: "Fix the lexer too", body: "More." });
  await it.open();
  expect(forge.pulls).toMatchObject([{ number: 1, title: "Fix the lexer too" }]);
  expect(forge.pulls[0]?.body).toContain("More.");
  expect(await lastEvent()).toMatchObject({
    type: "pull_request.updated",
    data: { number: 1, title: "Fix the lexer too", changes: ["commits", "title"] },
  });
  forge.change(1, { title: "Their title" });
  await it.pushed(runId, "c3", { title: "Another", kind: "pull_request" });
  await it.open();
  expect(forge.pulls).toMatchObject([{ number: 1, title: "Their title" }]);
  const rows = await engine.db`select number, head_commit, pushed_commit from pull_requests`;
  expect(rows).toEqual([{ number: 1, head_commit: "c3", pushed_commit: "c3" }]);
  const [last] = await engine.db`select warnings from publications order by position desc limit 1`;
  expect(last?.warnings).toEqual([expect.stringContaining("stays a draft")]);
});

test("servers that work at the same time open each pull request once", async () => {
  const others = await Promise.all(Array.from({ length: 6 }, () => it.endedRun()));
  for (const [index, other] of [runId, ...others].entries())
    await it.pushed(other, `c${index}`, { branch: `outrider/${index}` });
  await Promise.all(Array.from({ length: 4 }, () => it.open()));
  expect(forge.pulls.map((pull) => pull.branch).sort()).toEqual(
    [0, 1, 2, 3, 4, 5, 6].map((n) => `outrider/${n}`),
  );
  expect(forge.calls.filter((call) => call === "createPullRequest")).toHaveLength(7);
  const [count] =
    await engine.db`select count(*)::int as opened from events where type = 'pull_request.opened'`;
  expect(count).toEqual({ opened: 7 });
});

test("a server that stops between creating and storing leaves no second pull request", async () => {
  const id = await it.pushed(runId, "c1");
  const created = Promise.withResolvers<void>();
  const stopped = Promise.withResolvers<void>();
  forge.afterCreate = () => {
    created.resolve();
    return stopped.promise;
  };
  const first = it.open();
  await created.promise;
  // Another server takes over when the lease has expired.
  await makeDue();
  await it.open();
  await expectDone(id);
  const before = await linesOf();
  // The first one was only suspended. What it did is not stored again.
  stopped.resolve();
  await first;
  expect(forge.pulls).toHaveLength(1);
  expect(await linesOf()).toEqual(before);
  expect(before).toEqual(["pull_request.opened 1.1"]);
});

test("two servers that create at the same time end with the same pull request", async () => {
  const id = await it.pushed(runId, "c1");
  const found = Promise.withResolvers<void>();
  const gate = Promise.withResolvers<void>();
  forge.before = async (call) => {
    if (call !== "createPullRequest") return;
    found.resolve();
    await gate.promise;
  };
  const first = it.open();
  await found.promise;
  await makeDue();
  forge.before = () => {};
  await it.open();
  await expectDone(id);
  gate.resolve();
  await first;
  expect(forge.pulls).toHaveLength(1);
  expect(await linesOf()).toEqual(["pull_request.opened 1.1"]);
});

test("a response that is lost after the pull request was created is not repeated", async () => {
  const id = await it.pushed(runId, "c1");
  forge.afterCreate = () => {
    throw new ForgeError("unreachable", "The forge did not respond.");
  };
  await it.open();
  expect(toPublication(await it.publication(id))).toMatchObject({
    state: "PUSHED",
    status_message: { message: "The forge did not respond.", retryable: true },
  });
  await makeDue();
  await it.open();
  expect((await it.publication(id)).state).toBe("DONE");
  expect(forge.pulls).toHaveLength(1);
});

test("a forge that is down is retried with pauses until it is back", async () => {
  const id = await it.pushed(runId, "c1");
  let isDown = true;
  forge.before = () => {
    if (isDown) throw new ForgeError("unreachable", "The forge is down.");
  };
  for (let attempts = 1; attempts <= 3; attempts++) {
    await it.open();
    // It is not due, so nothing happens.
    await it.open();
    expect(await it.publication(id)).toMatchObject({ state: "PUSHED", attempts });
    await makeDue();
  }
  isDown = false;
  await it.open();
  expect(await it.publication(id)).toMatchObject({ state: "DONE", status_message: null });
  expect(forge.pulls).toHaveLength(1);
  expect(await linesOf()).toEqual(["pull_request.opened 1.1"]);
});

test("a revoked token fails the publication, and says what to do", async () => {
  const id = await it.pushed(runId, "c1");
  forge.before = () => {
    throw new ForgeError("unauthorized", "The token was revoked. Connect the forge again.");
  };
  await it.open();
  expect(toPublication(await it.publication(id))).toMatchObject({
    state: "FAILED",
    status_message: {
      message: expect.stringMatching(
        /The branch was pushed.* Connect the forge again\. Publish the changes again/,
      ),
      error_code: "external_authentication_required",
      retryable: false,
    },
  });
  expect(await lastEvent()).toMatchObject({ type: "notice", data: { code: "publication_failed" } });
});

test("a rate limit postpones the publication for as long as the forge asks", async () => {
  const id = await it.pushed(runId, "c1");
  forge.before = () => {
    throw new ForgeError("rate_limited", "Too many requests.", { retryAfterMs: 1_800_000 });
  };
  await it.open();
  const [row] = await engine.db`
    select state, extract(epoch from next_attempt_at - outrider_now())::int between 1700 and 1800 as waits
    from publications where publication_id = ${id}`;
  expect(row).toEqual({ state: "PUSHED", waits: true });
  const [forgeRow] = await engine.db`select blocked_until > outrider_now() as is_blocked from forge_requests`;
  expect(forgeRow).toEqual({ is_blocked: true });
});

test.each(["merged", "closed"] as const)(
  "a %s pull request is replaced only if a user asks",
  async (state) => {
    await it.pushed(runId, "c1");
    await it.open();
    forge.change(1, { state });
    const id = await it.pushed(runId, "c2");
    await it.open();
    expect(forge.pulls).toHaveLength(1);
    const message = `Pull request #1 is ${state}, so the new commits are only on the branch \`${branch}\`. Publish the changes yourself to open another pull request.`;
    expect(await it.publication(id)).toMatchObject({ state: "DONE", warnings: [message] });
    expect(await linesOf()).toEqual(["pull_request.opened 1.1", "pull_request.updated 1.1", "notice 1.1"]);
    expect(await lastEvent()).toEqual({ type: "notice", data: { message, code: "pull_request_closed" } });
    await it.pushed(runId, "c3", { requested_by: { type: "user", user: engine.admin.creator } });
    await it.open();
    const run = await findRun(engine.db, runId);
    expect(run?.pull_requests?.map((each) => [each.number, each.state])).toEqual([
      [2, "draft"],
      [1, state],
    ]);
  },
);

test("a closed pull request that the forge does not find by its branch is not replaced", async () => {
  await it.pushed(runId, "c1");
  await it.open();
  forge.change(1, { state: "closed" });
  forge.hidesClosed = true;
  const id = await it.pushed(runId, "c2");
  await it.open();
  expect(forge.pulls).toHaveLength(1);
  expect(await it.publication(id)).toMatchObject({ state: "DONE", pull_request: { state: "closed" } });
});

test("a pull request that was merged before it was stored belongs to the run", async () => {
  const id = await it.pushed(runId, "c1");
  forge.afterCreate = () => {
    forge.change(1, { state: "merged" });
    throw new ForgeError("unreachable", "The forge did not respond.");
  };
  await it.open();
  await makeDue();
  await it.open();
  expect(forge.pulls).toHaveLength(1);
  expect(await it.publication(id)).toMatchObject({ state: "DONE", pull_request: { state: "merged" } });
});

test("text that cannot be updated is a warning, because the commits are pushed", async () => {
  await it.pushed(runId, "c1");
  await it.open();
  forge.before = (call) => {
    if (call === "updatePullRequest") throw new ForgeError("forbidden", "Not allowed.");
  };
  const id = await it.pushed(runId, "c2");
  await it.open();
  expect(await it.publication(id)).toMatchObject({ state: "DONE", warnings: ["Not allowed."] });
});

test("servers that are killed or suspended at any call end with one pull request (seeded)", async () => {
  for (let seed = 1; seed <= (isFull ? 200 : 12); seed++) {
    const random = createRandom(seed);
    const id = await it.pushed(runId, `c${seed}`, { branch: `outrider/${seed}` });
    const suspended: (() => void)[] = [];
    let isKilled = Promise.withResolvers<void>();
    const fault = () => {
      const kind = random.below(6);
      if (kind === 0) throw new ForgeError("unreachable", "The connection was lost.");
      if (kind > 1) return undefined;
      isKilled.resolve();
      return new Promise<void>((resolve) => suspended.push(resolve));
    };
    forge.before = fault;
    forge.afterCreate = fault;
    for (let server = 0; server < 5; server++) {
      isKilled = Promise.withResolvers();
      const opening = it.open();
      await Promise.race([opening, isKilled.promise]);
      // The lease expires, or the pause before the next attempt ends.
      await makeDue();
    }
    forge.before = () => {};
    forge.afterCreate = () => {};
    // Suspended servers continue while another one works.
    const running = it.open();
    for (const resume of suspended) resume();
    await running;
    await vi.waitFor(async () => {
      await makeDue();
      await it.open();
      expect((await it.publication(id)).state).toBe("DONE");
    }, waitOptions);
    expect(forge.pulls.filter((pull) => pull.branch === `outrider/${seed}`)).toHaveLength(1);
  }
  const [count] = await engine.db`
    select count(*)::int as events, count(distinct data ->> 'branch')::int as branches from events
    where type = 'pull_request.opened'`;
  expect(count?.events).toBe(count?.branches);
});
