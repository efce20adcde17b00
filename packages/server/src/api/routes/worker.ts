import { limits } from "@outrider/contract/limits";
import { reserve, settle } from "../../engine/budgets.ts";
import { finishBuild, prepare, reportBuild, takeQueuedBuild } from "../../engine/builds.ts";
import { assignAll, claim } from "../../engine/claims.ts";
import { close, finish, release, report, requireExecution } from "../../engine/executions.ts";
import { notFound, Refusal } from "../../engine/refusal.ts";
import { topics } from "../../engine/wake.ts";
import { findArtifact } from "../../store/artifacts.ts";
import { findAttachment } from "../../store/attachments.ts";
import { findSpentCredentials } from "../../store/credentials.ts";
import { listEvents } from "../../store/events.ts";
import { listSignals, renewLeases } from "../../store/leases.ts";
import { seeWorker } from "../../store/workers.ts";
import { gone, ok, STREAMED, type WorkerHandlers } from "../call.ts";
import { openStream } from "../sse.ts";

/** Without a word from anybody, a waiting claim and a stream of signals look again after this long. */
const LOOK_AGAIN_MS = 800;
/** A claim that waits asks this often whether its key is still good: what it gets holds secrets. */
const DOUBT_MS = 500;

const revoked = () => new Refusal("authentication_required", "The key is expired or revoked.");

export const workerHandlers: WorkerHandlers = {
  async claim({ services, principal, body, reply, say }) {
    const { db, claims, claimants, rules, wake, brake, tally, stopping } = services;
    const gaveUp = new AbortController();
    reply.raw.once("close", () => gaveUp.abort());
    const signal = AbortSignal.any([stopping, gaveUp.signal]);
    // A worker that is stopped still has its claim here. It must be over before the runs it lost are given away.
    const until = Date.now() + Math.min(body.wait_ms, rules.leaseMs / 2);
    let trusted = Date.now();
    const given = (work: { run_id: string; attempt: number }[]) => {
      for (const { run_id } of work) say(topics.run(run_id));
      tally.add("runs_claimed", work.length);
      tally.add("runs_recovered", work.filter(({ attempt }) => attempt > 1).length);
    };
    for (;;) {
      const ms = Math.min(LOOK_AGAIN_MS, Math.max(0, until - Date.now()));
      const heard = wake.next(topics.queue, { ms, signal });
      // While the queue is paused, a claim still says that the worker lives, and repeats what it was given before.
      const free = brake.givesWork() ? body.free : 0;
      const claimed = await claim(claims, services, { ...body, free });
      const isIdle = claimed.executions.length === 0 && !claimed.draining && !signal.aborted;
      const build =
        isIdle && free > 0 ? await takeQueuedBuild(db, services, body.worker.worker_id) : undefined;
      if (!isIdle || build || Date.now() >= until) {
        given(claimed.executions);
        if (build) tally.add("builds_claimed");
        return ok({ ...claimed, builds: build ? [build] : [] });
      }
      const offer = free > 0 ? claimants.offer(body) : undefined;
      await Promise.race([heard, ...(offer ? [offer.settled] : [])]);
      const work = (await offer?.end()) ?? [];
      if (work.length > 0) {
        given(work);
        return ok({ executions: await assignAll(claims, services, work), draining: false, builds: [] });
      }
      if (Date.now() - trusted < DOUBT_MS) continue;
      if ((await findSpentCredentials(db, [principal.credentialId])).length > 0) throw revoked();
      trusted = Date.now();
    }
  },

  async heartbeat({ sql, services, body }) {
    const draining = await seeWorker(sql, body.worker, body.figures);
    const { executions } = body;
    const held = await renewLeases(sql, { executions, leaseMs: services.rules.leaseMs });
    services.tally.add("leases_refused", executions.length - held.length);
    return ok({ held, draining, takes_figures: true });
  },

  /** Said at every word on the worker, even if it looks the same: a run may have come and gone in between. */
  async signals({ services, principal, query, reply }) {
    const { db, wake, stopping } = services;
    const stream = openStream(reply, stopping);
    let isCalled = true;
    const off = wake.on(topics.worker(query.worker_id), () => {
      isCalled = true;
    });
    try {
      for (let last = ""; !stream.signal.aborted; ) {
        const heard = wake.next(topics.worker(query.worker_id), { ms: LOOK_AGAIN_MS, signal: stream.signal });
        const mustSay = isCalled;
        isCalled = false;
        const [found, spent] = await Promise.all([
          listSignals(db, query.worker_id),
          findSpentCredentials(db, [principal.credentialId]),
        ]);
        if (spent.length > 0) break;
        const signals = JSON.stringify(found);
        if (mustSay || signals !== last) await stream.write(`data: ${signals}\n\n`);
        last = signals;
        if (!isCalled) await heard;
      }
    } finally {
      off();
      stream.end();
    }
    return STREAMED;
  },

  async history({ sql, params, query }) {
    const runId = await requireExecution(sql, params.executionId);
    const limit = query.limit ?? limits.eventPageSize.max;
    const { events, isCut } = await listEvents(sql, { runId, after: query.after ?? 0, limit: limit + 1 });
    return ok({ events: events.slice(0, limit), has_next_page: isCut || events.length > limit });
  },

  async attachment({ sql, params, reply }) {
    const runId = await requireExecution(sql, params.executionId);
    const data = await findAttachment(sql, runId, params.attachmentId);
    if (!data) throw notFound("attachment");
    await reply.type("application/octet-stream").send(data);
    return STREAMED;
  },

  async artifact({ sql, services, params, reply }) {
    const runId = await requireExecution(sql, params.executionId);
    const artifact = await findArtifact(sql, params.artifactId);
    const blob = artifact?.run_id === runId ? await services.blobs.open(artifact.sha256) : undefined;
    if (!blob) throw notFound("artifact");
    await reply.type("application/octet-stream").header("content-length", blob.size).send(blob.content);
    return STREAMED;
  },

  async prepare({ sql, services, params, body, say }) {
    const { response, queued } = await prepare(sql, services.rules, params.executionId, body);
    if (queued) say(topics.queue);
    return ok(response);
  },

  async reportBuild({ sql, services, params, body, say }) {
    await reportBuild(sql, services.rules, params.buildId, body);
    say(topics.build(params.buildId));
    return gone;
  },

  async finishBuild({ sql, services, params, body, say }) {
    await finishBuild(sql, services.rules, params.buildId, body);
    say(topics.build(params.buildId));
    return gone;
  },

  async reserve({ sql, services, params, body }) {
    return ok(await reserve(sql, params.executionId, body, services.quotas));
  },

  async settle({ sql, body }) {
    await settle(sql, body);
    return gone;
  },

  async report({ sql, services, params, body, say }) {
    const answer = await report(sql, params.executionId, body);
    services.tally.add("events_reported", body.events.length);
    say(topics.run(body.run_id));
    return ok(answer);
  },

  async delta({ services, body }) {
    services.deltas.send(body.run_id, body.text);
    return gone;
  },

  async finish({ sql, services, params, body, say }) {
    const answer = await finish(sql, params.executionId, body);
    services.tally.add("events_reported", body.events.length);
    say(topics.run(body.run_id));
    return ok(answer);
  },

  async close({ sql, params, body, say }) {
    await close(sql, params.executionId, body);
    say(topics.run(body.run_id));
    say(topics.queue);
    return gone;
  },

  async release({ sql, params, body, say }) {
    await release(sql, params.executionId, body);
    say(topics.run(body.run_id));
    say(topics.queue);
    return gone;
  },
};
