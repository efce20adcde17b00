import { randomUUID } from "node:crypto";
import type { PublishPolicy } from "@outrider/contract/publish-policy";
import { pino } from "pino";
import type { PubSub } from "../../src/engine/live/pubsub.ts";
import { Counters } from "../../src/engine/operations/counters.ts";
import { openPullRequests } from "../../src/engine/publishing/open-pull-requests.ts";
import { pollPullRequests } from "../../src/engine/publishing/poll-pull-requests.ts";
import { MAX_RETRY_MS } from "../../src/engine/publishing/publications.ts";
import { endTurn } from "../../src/engine/runs/runs.ts";
import { findDueWork } from "../../src/store/due-work.ts";
import { insertEnvironment } from "../../src/store/environments.ts";
import {
  changePublication,
  findPublication,
  insertPublication,
  type NewPublication,
  type PublicationRow,
} from "../../src/store/publications.ts";
import { deleteRun } from "../../src/store/runs/runs.ts";
import type { TestEngine } from "../engine.ts";
import type { MemoryForge } from "./memory-forge.ts";

export const noPubSub: PubSub = {
  publish() {},
  on: () => () => {},
  next: async () => {},
  close: async () => {},
};

export const branch = "outrider/fix-the-parser-1";

/** Deletes what a test has created, because a database for each test would take longer. */
export async function deleteRuns({ db, tx }: TestEngine): Promise<void> {
  const runs = await db<{ run_id: string }[]>`select run_id from runs`;
  for (const { run_id } of runs) await tx((each) => deleteRun(each, run_id));
  await db`delete from forge_requests`;
  await db`update users set deleted_at = null`;
}

/** What a test does with a run and its publications, on a forge. */
export interface Publishing {
  /** Creates a run that has ended, in an environment with this policy. */
  endedRun(policy?: PublishPolicy): Promise<string>;
  endTurn(): Promise<void>;
  /** Creates a publication whose branch was pushed. */
  pushed(runId: string, commit: string, changes?: Partial<NewPublication>): Promise<string>;
  /** Does what the background task of a server does. */
  open(): Promise<void>;
  poll(): Promise<void>;
  /** Polls although no pull request is due. */
  pollNow(): Promise<void>;
  publication(publicationId: string): Promise<PublicationRow>;
}

export function publishing(engine: TestEngine, forge: MemoryForge): Publishing {
  const { db } = engine;
  const log = pino({ level: "silent" });
  const options = {
    ...{
      db,
      forges: forge.forges(),
      pubsub: noPubSub,
      wakeUps: { wake() {} },
      log,
      gitHost: "https://git.test",
    },
    ...{ counters: new Counters(), harnesses: engine.harnesses, quotas: {}, isAdmitted: () => true },
    origin: () => "https://outrider.test",
  };
  const endNext = async () => {
    for (const { run_id: runId, execution_id: executionId } of await engine.claim()) {
      const outcome = { type: "succeeded" as const, text: "Done." };
      await endTurn(db, { runId, executionId, batch: 1, events: [] }, { outcome });
    }
  };
  const dueWork = () => findDueWork(db, { maxQueuedMs: MAX_RETRY_MS });
  const poll = async () => {
    if ((await dueWork()).pollPullRequests) await pollPullRequests(options);
  };
  return {
    async endedRun(publish = {}) {
      const environment_id = randomUUID();
      const url = "https://git.test/acme/api";
      const repos = [{ url, path: "api", publish }];
      await insertEnvironment(db, environment_id, { name: environment_id, repos });
      const runId = await engine.create({ config: { environment_id } });
      await endNext();
      return runId;
    },
    endTurn: endNext,
    async pushed(run_id, commit, changes = {}) {
      const publication_id = randomUUID();
      forge.push(changes.branch ?? branch, commit);
      await engine.tx(async (tx) => {
        await insertPublication(tx, {
          ...{ publication_id, run_id, turn: 1, path: "api", repository: "https://git.test/acme/api" },
          ...{
            kind: "draft_pull_request",
            state: "QUEUED",
            branch,
            base: "main",
            base_commit: "0",
            tip: commit,
          },
          ...{ title: "Fix the parser", body: "Fixed it.", options: {}, files_changed: 1, diff_bytes: 1 },
          requested_by: { type: "policy" },
          ...changes,
        });
        const change = { state: "PUSHED" as const, pushed_commit: commit, dueInMs: 0 };
        await changePublication(tx, publication_id, { ...change, restartsRetries: true });
      });
      return publication_id;
    },
    async open() {
      if ((await dueWork()).openPullRequests) await openPullRequests(options);
    },
    poll,
    async pollNow() {
      await db`update pull_requests set next_poll_at = outrider_now() where next_poll_at is not null`;
      await db`delete from forge_requests`;
      await poll();
    },
    publication: async (id) => (await findPublication(db, id)) as PublicationRow,
  };
}
