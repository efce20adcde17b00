import { limits } from "@outrider/contract/limits";
import { notFound } from "../../engine/api-error.ts";
import { recordChunks } from "../../engine/builds/build-chunks.ts";
import { finishBuild, prepare, reportBuild } from "../../engine/builds/builds.ts";
import { assignProposal, finishProposal } from "../../engine/builds/proposals.ts";
import { repositoryCredential } from "../../engine/forges/credentials.ts";
import { reserve, settle } from "../../engine/limits/budgets.ts";
import { topics } from "../../engine/live/pubsub.ts";
import { close, finish, release, report, requireExecution } from "../../engine/runs/executions.ts";
import { interrupt } from "../../engine/runs/interruptions.ts";
import { finishShell, reportShell, waitForInput } from "../../engine/shells/shells.ts";
import { findWaitingRun } from "../../store/dispatch/requirements.ts";
import { findInstallationId } from "../../store/installation.ts";
import { findArtifact } from "../../store/runs/artifacts.ts";
import { findAttachment } from "../../store/runs/attachments.ts";
import { listEventsForWorker, omitNullPrivate } from "../../store/runs/events.ts";
import { traceClaims } from "../../telemetry/claim-traces.ts";
import { noContent, ok, STREAMED, type WorkerHandlers } from "../pipeline/call.ts";
import { readPage } from "../streams/event-log.ts";
import { openStream } from "../streams/sse.ts";
import { workerFileRequestHandlers } from "./worker-file-requests.ts";
import { workerPublicationHandlers } from "./worker-publications.ts";

export const workerHandlers: WorkerHandlers = {
  ...workerPublicationHandlers,
  ...workerFileRequestHandlers,

  async claim({ services, principal, body, reply, publish }) {
    const { counters, stopping } = services;
    const disconnected = new AbortController();
    reply.raw.once("close", () => disconnected.abort());
    const response = await services.claimer.claim({
      request: body,
      credentialId: principal.credentialId,
      signal: AbortSignal.any([stopping, disconnected.signal]),
      onClaimed(work) {
        for (const { run_id } of work) publish(topics.run(run_id));
        counters.add("runs_claimed", work.length);
        counters.add("runs_recovered", work.filter(({ attempt }) => attempt > 1).length);
      },
    });
    services.workerAccess.rememberClaimed(principal.credentialId, response.executions);
    counters.add("builds_claimed", response.builds.length);
    // Without a trace context, the worker starts a trace of its own.
    const executions = await traceClaims(services, response.executions).catch((error) => {
      services.log.warn({ error }, "failed to trace claimed runs");
      return response.executions;
    });
    return ok({ ...response, executions });
  },

  async identifyInstallation({ sql }) {
    const installation_id = await findInstallationId(sql);
    if (installation_id === undefined) throw notFound("installation");
    return ok({ installation_id });
  },

  async heartbeat({ services, body }) {
    const { held, draining } = await services.heartbeats.record(body);
    services.counters.add("leases_refused", body.executions.length - held.length);
    return ok({ held, draining, takes_stats: true });
  },

  /**
   * Streams signals that the worker must react to, such as cancellations. After a notification, sends the current
   * signals even if they look unchanged: a run may have started and ended in the meantime.
   */
  async signals({ services, principal, query, reply }) {
    const { signalReader, maintenance, stopping } = services;
    const stream = openStream(reply, stopping);
    const watched = signalReader.watch(query.worker_id, principal.credentialId);
    try {
      for (let last = ""; ; ) {
        const reading = await watched.next(stream.signal);
        if (!reading?.signals) break;
        // Other streams of this worker may have the same signals.
        const current = { ...reading.signals };
        // These are new work, which the worker must not start while dispatch is paused.
        if (!maintenance.dispatchEnabled() || current.draining) {
          delete current.proposals;
          delete current.publications;
        }
        // A draining worker still has the sandboxes of its runs, but must not open the files of others.
        if (current.draining && current.file_requests)
          current.file_requests = current.file_requests.filter(({ source }) => source === "sandbox");
        if (current.file_requests?.length === 0) delete current.file_requests;
        const signals = JSON.stringify(current);
        // A worker may have been too busy to take what it was told about.
        const hasWork = current.publications !== undefined || current.file_requests !== undefined;
        if (reading.isNotified || hasWork || signals !== last) await stream.write(`data: ${signals}\n\n`);
        last = signals;
      }
    } finally {
      watched.close();
      stream.end();
    }
    return STREAMED;
  },

  async history({ sql, params, query }) {
    const runId = await requireExecution(sql, params.executionId);
    const { after, limit = limits.eventPageSize.max } = query;
    const list = (from: number, count: number) =>
      listEventsForWorker(sql, { runId, after: from, limit: count });
    const { events, ...page } = await readPage(list, { after, limit });
    return ok({ ...page, events: events.map(omitNullPrivate) });
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

  async prepare({ sql, services, params, body, publish }) {
    const { response, queued } = await prepare(sql, services.policy, params.executionId, body);
    if (queued) publish(topics.queue);
    return ok(response);
  },

  async reportBuild({ sql, services, params, body, publish }) {
    await reportBuild(sql, services.policy, params.buildId, body);
    publish(topics.build(params.buildId));
    return noContent;
  },

  async recordChunks({ sql, services, params, body }) {
    return ok({ missing: await recordChunks(sql, services, params.buildId, body) });
  },

  async finishBuild({ sql, services, params, body, publish }) {
    await finishBuild(sql, services.policy, params.buildId, body);
    publish(topics.build(params.buildId));
    return noContent;
  },

  async takeProposal({ sql, services, params, body }) {
    const { proposalId } = params;
    return ok(await assignProposal(sql, services, { proposalId, workerId: body.worker_id }));
  },

  async finishProposal({ sql, params, body }) {
    await finishProposal(sql, params.proposalId, body);
    return noContent;
  },

  async repositoryCredential({ sql, services, principal, body }) {
    const { holder } = body;
    if (holder.type === "execution") {
      const { execution_id: executionId } = holder;
      await services.workerAccess.requireExecution(sql, principal.credentialId, { executionId });
    }
    return ok(await repositoryCredential(sql, services, body));
  },

  async reportShell({ sql, services, params, body, publish }) {
    await reportShell(sql, services, params.shellId, body);
    publish(topics.shell(params.shellId));
    return noContent;
  },

  async shellInput({ services, params, body, reply }) {
    const disconnected = new AbortController();
    reply.raw.once("close", () => disconnected.abort());
    const signal = AbortSignal.any([services.stopping, disconnected.signal]);
    return ok(await waitForInput(services, params.shellId, body, signal));
  },

  async finishShell({ sql, services, params, body, publish }) {
    await finishShell(sql, services, params.shellId, body);
    publish(topics.shell(params.shellId));
    return noContent;
  },

  async reserve({ sql, services, params, body }) {
    return ok(await reserve(sql, params.executionId, body, services.quotas));
  },

  async settle({ sql, body }) {
    await settle(sql, body);
    return noContent;
  },

  async report({ sql, services, params, body, publish }) {
    const response = await report(sql, params.executionId, body);
    services.counters.add("events_reported", body.events.length);
    publish(topics.run(body.run_id));
    return ok(response);
  },

  async delta({ services, params, body }) {
    const { run_id: runId, index, text } = body;
    services.deltas.send({ runId, executionId: params.executionId, index, text });
    return noContent;
  },

  async finish({ sql, services, params, body, publish }) {
    const response = await finish(sql, params.executionId, body);
    services.counters.add("events_reported", body.events.length);
    publish(topics.run(body.run_id));
    return ok(response);
  },

  async finishAll({ sql, services, body, publish }) {
    const finished = body.finishes.map(async ({ execution_id, ...request }) => {
      // The worker tries it again in a request of its own, which reports the error.
      const response = await finish(sql, execution_id, request).catch(() => undefined);
      if (!response) return [];
      services.counters.add("events_reported", request.events.length);
      publish(topics.run(request.run_id));
      return [{ execution_id, ...response }];
    });
    return ok({ finished: (await Promise.all(finished)).flat() });
  },

  async close({ sql, params, body, publish, wake }) {
    await close(sql, params.executionId, body);
    publish(topics.run(body.run_id));
    wake(await findWaitingRun(sql, body.run_id));
    return noContent;
  },

  async release({ sql, params, body, publish, wake }) {
    await release(sql, params.executionId, body);
    publish(topics.run(body.run_id));
    wake(await findWaitingRun(sql, body.run_id));
    return noContent;
  },

  async interrupt({ sql, params, body, publish, wake }) {
    await interrupt(sql, params.executionId, body);
    publish(topics.run(body.run_id));
    wake(await findWaitingRun(sql, body.run_id));
    return noContent;
  },
};
