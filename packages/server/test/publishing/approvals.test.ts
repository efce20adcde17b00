import { createHash, randomUUID } from "node:crypto";
import type { Assignment, TurnOutcome } from "@outrider/contract/worker";
import type { PublishRequest } from "@outrider/contract/worker/publication";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Forges } from "../../src/engine/forges/forges.ts";
import { approvePublication, rejectPublication } from "../../src/engine/publishing/approvals.ts";
import { assignPublication, finishPublication } from "../../src/engine/publishing/assignments.ts";
import { reapPublications } from "../../src/engine/publishing/publication-reaper.ts";
import {
  completePublication,
  failPublication,
  MAX_RETRY_MS,
  retryPublication,
} from "../../src/engine/publishing/publications.ts";
import { publishStaged } from "../../src/engine/publishing/staging.ts";
import { finish } from "../../src/engine/runs/executions.ts";
import { sendFollowup } from "../../src/engine/runs/followups.ts";
import { cancelRun, getRun } from "../../src/engine/runs/runs.ts";
import { OutboundNetwork } from "../../src/outbound/outbound-network.ts";
import { upsertBlob } from "../../src/store/blobs.ts";
import { findDueWork } from "../../src/store/due-work.ts";
import { insertEnvironment } from "../../src/store/environments.ts";
import { findPublication, listPublications, takePushedPublication } from "../../src/store/publications.ts";
import { attempt, inOrder, logOf, setClock, someUsage, type TestEngine, testEngine } from "../engine.ts";

let engine: TestEngine;
let forges: Forges;
const network = new OutboundNetwork();
const sha256 = "e".repeat(64);
const noPubSub = { publish() {}, on: () => () => {}, next: async () => {}, close: async () => {} };
// biome-ignore lint/suspicious/noExplicitAny: only its error method is called
const log = { error() {}, warn() {} } as any;

beforeAll(async () => {
  engine = await testEngine();
  forges = new Forges({ db: engine.db, vault: engine.vault, network });
  await upsertBlob(engine.db, { sha256, size_bytes: 10 });
  const sealed = engine.vault.seal("token", "secret TOKEN");
  await engine.db`insert into secrets (name, sealed) values ('TOKEN', ${sealed})`;
  // Only its address is read: the repository has a secret, and no test opens a pull request.
  await engine.db`
    insert into forges (forge_id, type, host, url, api_url, auth, login, sealed, created_by)
    values (${randomUUID()}, 'gitea', 'git.test', 'https://git.test', 'https://git.test/api/v1', '{"type": "token"}', 'bot',
      '', ${randomUUID()})`;
});
afterAll(async () => {
  await network.close();
  await engine.stop();
});

const services = () => ({ ...engine, forges, gitHost: "https://git.test", log });

async function newEnvironment(policy: object, paths = ["api"]): Promise<string> {
  const environmentId = randomUUID();
  const repos = paths.map((path) => ({
    ...{ url: `https://git.test/acme/${randomUUID()}.git`, path, secret: "TOKEN" },
    publish: { publish: "branch" as const, ...policy },
  }));
  await insertEnvironment(engine.db, environmentId, { name: "e", repos });
  return environmentId;
}

function requestOf(run_id: string, paths = ["api"]): PublishRequest {
  return {
    ...{ run_id, request_id: randomUUID(), trigger: "turn_end", outcome: "succeeded" },
    commits: paths.map((path) => ({
      ...{ path, base_commit: "a".repeat(40), tip: createHash("sha1").update(randomUUID()).digest("hex") },
      ...{ bundle: { sha256, size_bytes: 10 }, commits: 1, has_more_files: false, diff_bytes: 10 },
      ...{ files: [{ path: "src/a.ts", status: "modified" as const }], secrets: [], problems: [] },
    })),
  };
}

async function stage({ run_id, execution_id }: Assignment, paths?: string[]) {
  const request = requestOf(run_id, paths);
  return (await engine.tx((tx) => publishStaged(tx, services(), execution_id, request))).response;
}

async function end({ run_id, execution_id }: Assignment, outcome: Partial<TurnOutcome> = {}) {
  const whole = { type: "succeeded", text: "Done.", ...outcome } as TurnOutcome;
  await finish(engine.db, execution_id, {
    ...{ run_id, batch: 1, events: [], usage: someUsage },
    outcome: whole,
  });
}

/** Executes a turn whose changes need approval. */
async function blocked(paths = ["api"], policy: object = {}) {
  const environment_id = await newEnvironment({ approval: "required", when: "on_success", ...policy }, paths);
  const assignment = await engine.claimed({ config: { environment_id }, output_schema: { type: "object" } });
  const { publications } = await stage(assignment, paths);
  const ids = publications.map(({ publication_id }) => publication_id);
  await end(assignment, { output: { ok: true }, awaiting_approval: ids } as Partial<TurnOutcome>);
  return { runId: assignment.run_id, ids, id: ids[0] as string };
}

const read = (runId: string) => getRun(engine.db, engine.admin, runId);
const stateOf = async (id: string) => (await findPublication(engine.db, id))?.state;
const decision = (runId: string, publicationId: string, comment?: string) => ({
  principal: engine.admin,
  ...{ runId, publicationId, comment },
});
const approve = (runId: string, id: string) => engine.tx((tx) => approvePublication(tx, decision(runId, id)));
const reject = (runId: string, id: string, comment?: string) =>
  engine.tx((tx) => rejectPublication(tx, decision(runId, id, comment)));
const cancel = (runId: string) => engine.tx((tx) => cancelRun(tx, engine.admin, runId));
const followUp = (runId: string) =>
  engine.tx((tx) => sendFollowup(tx, engine.admin, runId, { message: "more" }));

describe("a run with publications that await approval", () => {
  test("is BLOCKED with a question, and succeeds with its outcome when all are decided", async () => {
    const { runId, ids } = await blocked(["api", "web"]);
    const run = await read(runId);
    expect(run).toMatchObject({ state: "BLOCKED", phase: "blocked" });
    expect(run.status_message?.message).toMatch(
      /May Outrider push the branch `outrider\/.*` in https:\/\/git\.test\/acme\/.*\.git\? 1 changed file\. The environment requires approval\./,
    );
    const [event] = await engine.db`
      select data from events where run_id = ${runId} and type = 'run.blocked'`;
    expect(event?.data.publication_ids).toEqual(ids);
    const [first, second] = ids as [string, string];
    const approved = await approve(runId, first);
    expect(approved).toMatchObject({ state: "QUEUED", decided_by: engine.admin.creator });
    expect((await read(runId)).state).toBe("BLOCKED");
    await reject(runId, second);
    const ended = await read(runId);
    expect(ended).toMatchObject({ state: "SUCCEEDED", phase: "done", output: { ok: true } });
    expect(ended.status_message).toBeUndefined();
    expect((await logOf(engine.db, runId)).slice(-4)).toEqual([
      "run.blocked 1.1",
      "notice 1.1",
      "notice 1.1",
      "run.succeeded 1.1",
    ]);
    const codes = await engine.db`
      select data ->> 'code' as code, data ->> 'message' as message from events
      where run_id = ${runId} and type = 'notice' order by seq`;
    expect(codes).toMatchObject([{ code: "publication_approved" }, { code: "publication_rejected" }]);
    expect(codes[0]?.message).toContain(`${engine.admin.creator.display_name} approved`);
  });

  test("continues with the comment of a rejection", async () => {
    const { runId, id } = await blocked();
    const { followup } = await reject(runId, id, "Use tabs.");
    expect(followup?.sent).toMatchObject({ outcome: "new_turn", state: "QUEUED" });
    expect(await stateOf(id)).toBe("REJECTED");
    const [assignment] = (await engine.claim()).filter(({ run_id }) => run_id === runId);
    expect(assignment?.history.at(-1)).toMatchObject({
      type: "message.user",
      data: { text: expect.stringContaining("Use tabs.") },
    });
    // The changes of the new turn need approval again, and those that were rejected are not published.
    const { publications } = await stage(assignment as Assignment);
    expect(publications).toMatchObject([{ state: "AWAITING_APPROVAL" }]);
  });

  test("continues with a follow-up, which supersedes the publication", async () => {
    const { runId, id } = await blocked();
    await followUp(runId);
    expect(await stateOf(id)).toBe("SUPERSEDED");
    expect((await read(runId)).state).toBe("QUEUED");
    expect(await attempt(() => approve(runId, id))).toEqual({ refused: "conflict" });
  });

  test("is not blocked if users decide before the turn ends", async () => {
    const environment_id = await newEnvironment({ approval: "required", when: "on_success" });
    const assignment = await engine.claimed({ config: { environment_id } });
    const { publications } = await stage(assignment);
    const id = publications[0]?.publication_id as string;
    await approve(assignment.run_id, id);
    await end(assignment, { awaiting_approval: [id] } as Partial<TurnOutcome>);
    expect((await read(assignment.run_id)).state).toBe("SUCCEEDED");
  });

  test("stays BLOCKED if the agent asks a question, whatever is decided", async () => {
    const environment_id = await newEnvironment({ approval: "required", when: "on_success" });
    const assignment = await engine.claimed({ config: { environment_id } });
    const { publications } = await stage(assignment);
    await end(assignment, { type: "blocked", question: "Which?" } as TurnOutcome);
    await approve(assignment.run_id, publications[0]?.publication_id as string);
    expect((await read(assignment.run_id)).state).toBe("BLOCKED");
  });

  test("fails if nobody decides in time", async () => {
    const { runId, id } = await blocked();
    await engine.db`update run_state set blocked_at = '2000-01-01' where run_id = ${runId}`;
    await engine.db`update runs set created_at = '2000-01-01' where run_id = ${runId}`;
    await engine.reap();
    expect((await read(runId)).state).toBe("FAILED");
    expect(await stateOf(id)).toBe("SUPERSEDED");
  });
});

describe("concurrent decisions", () => {
  test("let only the first of two approvals win", async () => {
    const { runId, id } = await blocked();
    const results = await inOrder(engine.db, runId, [() => approve(runId, id), () => approve(runId, id)]);
    expect(results[0]).toHaveProperty("answer");
    expect(results[1]).toEqual({ refused: "conflict" });
    expect((await read(runId)).state).toBe("SUCCEEDED");
  });

  test("let only the first of an approval and a rejection win", async () => {
    const { runId, id } = await blocked();
    const [, second] = await inOrder(engine.db, runId, [() => reject(runId, id), () => approve(runId, id)]);
    expect(second).toEqual({ refused: "conflict" });
    expect(await stateOf(id)).toBe("REJECTED");
  });

  test("do not publish after a cancellation", async () => {
    const { runId, id } = await blocked();
    const [, late] = await inOrder(engine.db, runId, [() => cancel(runId), () => approve(runId, id)]);
    expect(late).toEqual({ refused: "conflict" });
    expect(await stateOf(id)).toBe("SUPERSEDED");
    expect((await read(runId)).state).toBe("CANCELLED");
  });

  test("do not cancel after an approval", async () => {
    const { runId, id } = await blocked();
    const [, late] = await inOrder(engine.db, runId, [() => approve(runId, id), () => cancel(runId)]);
    expect(late).toEqual({ refused: "conflict" });
    expect(await stateOf(id)).toBe("QUEUED");
    expect((await read(runId)).state).toBe("SUCCEEDED");
  });

  test("and follow-ups leave one of two states", async () => {
    const one = await blocked();
    await inOrder(engine.db, one.runId, [() => approve(one.runId, one.id), () => followUp(one.runId)]);
    expect(await stateOf(one.id)).toBe("QUEUED");
    expect((await read(one.runId)).state).toBe("QUEUED");
    const two = await blocked();
    const [, late] = await inOrder(engine.db, two.runId, [
      () => followUp(two.runId),
      () => approve(two.runId, two.id),
    ]);
    expect(late).toEqual({ refused: "conflict" });
    expect(await stateOf(two.id)).toBe("SUPERSEDED");
  });
});

test("only users decide, and only those who may steer the run", async () => {
  const { runId, id } = await blocked();
  const [agent_uid, other] = [randomUUID(), await engine.user("other@x.test")];
  await engine.db`
    insert into identities (uid, owner_uid, name) values (${agent_uid}, ${engine.admin.userUid}, 'agent')`;
  const agent = await engine.key({ name: "k", type: "agent", agent_uid });
  for (const principal of [agent, other]) {
    const refused = await attempt(() =>
      engine.tx((tx) => approvePublication(tx, { ...decision(runId, id), principal })),
    );
    expect(["not_authorized", "resource_not_found"]).toContain("refused" in refused && refused.refused);
  }
  expect(await stateOf(id)).toBe("AWAITING_APPROVAL");
});

describe("time", () => {
  let timed: TestEngine;
  const now = Date.UTC(2030, 0, 1);
  beforeAll(async () => {
    timed = engine;
    engine = await testEngine({ connections: 1 });
    await setClock(engine.db, now);
    await upsertBlob(engine.db, { sha256, size_bytes: 10 });
    const sealed = engine.vault.seal("token", "secret TOKEN");
    await engine.db`insert into secrets (name, sealed) values ('TOKEN', ${sealed})`;
  });
  afterAll(async () => {
    await engine.stop();
    engine = timed;
  });

  async function queued() {
    const environment_id = await newEnvironment({ when: "on_success" });
    const assignment = await engine.claimed({ config: { environment_id } });
    const { publications } = await stage(assignment);
    return publications[0]?.publication_id as string;
  }
  const workerId = randomUUID();
  const take = (publicationId: string) =>
    attempt(() => assignPublication(services(), { publicationId, workerId }));
  /** Does what a server does every second. */
  const reap = async () => {
    const due = await findDueWork(engine.db, { maxQueuedMs: MAX_RETRY_MS });
    if (due.reapPublications) await reapPublications({ db: engine.db, pubsub: noPubSub });
  };

  test("queues a publication again whose worker was lost, and fails it after five", async () => {
    let clock = now;
    await setClock(engine.db, clock);
    const id = await queued();
    for (let lost = 1; lost <= 5; lost++) {
      expect(await take(id)).toHaveProperty("answer");
      await reap();
      expect(await stateOf(id)).toBe("PUSHING");
      clock += 5 * 60_000;
      await setClock(engine.db, clock);
      await reap();
      expect(await stateOf(id)).toBe(lost < 5 ? "QUEUED" : "FAILED");
      clock += 5 * 60_000;
      await setClock(engine.db, clock);
    }
    const row = await findPublication(engine.db, id);
    expect(row?.status_message).toMatchObject({ error_code: "worker_lost" });
  });

  test("ends the retries after a day", async () => {
    await setClock(engine.db, now);
    const id = await queued();
    const taken = await take(id);
    const { token } = "answer" in taken ? taken.answer : { token: "" };
    const outcome = {
      ...{ type: "failed" as const, error_code: "repository_unreachable" as const },
      ...{ message: "It is down.", is_retryable: true },
    };
    await engine.tx((tx) => finishPublication(tx, id, { worker_id: workerId, token, outcome }));
    await setClock(engine.db, now + 23 * 3_600_000);
    await reap();
    expect(await stateOf(id)).toBe("QUEUED");
    await setClock(engine.db, now + 24 * 3_600_000);
    await reap();
    const row = await findPublication(engine.db, id);
    expect(row?.state).toBe("FAILED");
    expect(row?.status_message?.message).toContain("It is down.");
  });
});

describe("a pushed publication with a pull request", () => {
  async function pushed() {
    const environment_id = await newEnvironment({ publish: "pull_request", when: "on_success" });
    const assignment = await engine.claimed({ config: { environment_id } });
    const { publications } = await stage(assignment);
    const id = publications[0]?.publication_id as string;
    const workerId = randomUUID();
    const { token, tip } = await assignPublication(services(), { publicationId: id, workerId });
    const outcome = {
      ...{ type: "pushed" as const, commit: tip, default_branch: "trunk", is_forced: false },
    };
    await engine.tx((tx) => finishPublication(tx, id, { worker_id: workerId, token, outcome }));
    return { id, runId: assignment.run_id };
  }
  const lease = () => engine.tx((tx) => takePushedPublication(tx, { leaseMs: 60_000 }));

  test("is leased to one server, and ends when the pull request is open", async () => {
    const { id, runId } = await pushed();
    const leased = await Promise.all([lease(), lease()]);
    expect(leased.flatMap((row) => row?.publication_id ?? [])).toEqual([id]);
    expect(leased.find(Boolean)).toMatchObject({ state: "PUSHED", base: "trunk", kind: "pull_request" });
    const pullRequest = {
      ...{ url: "https://git.test/acme/api/pulls/1", number: 1, repository: "acme/api" },
      ...{ branch: "b", base: "trunk", state: "open" as const },
    };
    const complete = () =>
      engine.tx((tx) => completePublication(tx, id, { pullRequest, warnings: ["Unknown label."] }));
    expect(await complete()).toBe(true);
    expect(await complete()).toBe(false);
    const [row] = await listPublications(engine.db, runId);
    expect(row).toMatchObject({ state: "DONE", pull_request: pullRequest, warnings: ["Unknown label."] });
  });

  test("is retried later, or fails", async () => {
    const { id } = await pushed();
    await engine.tx((tx) => retryPublication(tx, id, { message: "It is down." }));
    expect(await lease()).toBeUndefined();
    expect((await findPublication(engine.db, id))?.status_message?.message).toBe("It is down.");
    await engine.tx((tx) => failPublication(tx, id, { message: "No permission." }));
    expect(await stateOf(id)).toBe("FAILED");
  });
});
