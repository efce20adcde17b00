import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type {
  Assignment,
  BuildAssignment,
  Signals,
  WorkerFigures,
  WorkerInfo,
} from "@outrider/contract/worker";
import { Bases } from "./bases.ts";
import { type BuildContext, runBuild } from "./build.ts";
import { parseExceptions } from "./egress/exceptions.ts";
import { startHostProxy } from "./egress/host-proxy.ts";
import { Execution } from "./execute.ts";
import { Mishaps, measure } from "./figures.ts";
import { FreeSpace } from "./free-space.ts";
import { HttpStatusError } from "./http.ts";
import { KeptSandboxes } from "./kept.ts";
import { Lease } from "./lease.ts";
import { openNetworks } from "./networks.ts";
import { openRepositories } from "./repositories/repositories.ts";
import { openLocalProvider } from "./sandboxes/local.ts";
import type { Mount } from "./sandboxes/sandbox.ts";
import { connect } from "./server.ts";

const CLAIM_AGAIN_MS = 2_000;
const CLAIM_WAIT_MS = 20_000;
const GIVE_BACK_MS = 5_000;
const CACHE_BYTES = 20 * 2 ** 30;
const MIN_FREE_BYTES = 256 * 2 ** 20;
const LOOK_AGAIN_MS = 2_000;

export interface WorkerOptions {
  url: string;
  key: string;
  /** A file with a certificate to believe, besides the usual authorities. */
  ca?: string;
  name: string;
  version: string;
  slots: number;
  /** Sandboxes and what waits to be sent; this worker's alone. */
  folder: string;
  /** What of the host its sandboxes see besides programs. */
  mounts?: Mount[];
  /** How long a draining worker lets its runs go on before it hands them back. */
  drainMs: number;
  /** Addresses of the inner network that sandboxes, git and MCP calls may reach, as `10.0.0.0/8, git.internal:22`. */
  allowedAddresses?: string;
  /** Folders below which repositories may be taken from this machine's disk. */
  repositoryPaths?: string[];
  /** What prepared environments may take of the disk. */
  cacheBytes?: number;
  /** With less free on the disk of its folder it takes nothing new. */
  minFreeBytes?: number;
  log: Log;
}

interface Log {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

export interface Worker {
  workerId: string;
  /** Resolves when the server has told it to drain and nothing is left to do. */
  drained: Promise<void>;
  /** Takes nothing new, finishes or hands back what it has, then stops. */
  drain(): Promise<void>;
}

/** Claims runs and executes them, as many at once as it has slots. */
export async function startWorker(options: WorkerOptions): Promise<Worker> {
  const { url, key, name, version, slots, folder, mounts = [], drainMs } = options;
  const { allowedAddresses = "", repositoryPaths = [], cacheBytes = CACHE_BYTES } = options;
  const mishaps = new Mishaps();
  const log = mishaps.counting(options.log);
  const freeSpace = new FreeSpace({ folder, minFreeBytes: options.minFreeBytes ?? MIN_FREE_BYTES, log });
  const server = connect({
    url,
    key,
    ...(options.ca ? { ca: options.ca } : {}),
    distrusted: (reason) => log.error({ reason }, "the server's certificate is not trusted"),
    retried: () => mishaps.add("server_retry"),
  });
  const failed = () => mishaps.add("sandbox");
  const provider = await openLocalProvider({ root: join(folder, "sandboxes"), mounts, failed, log });
  await provider.check();
  const removed = await provider.reap(() => false);
  if (removed.length > 0)
    log.info({ count: removed.length }, "removed sandboxes that an earlier worker left");

  const exceptions = parseExceptions(allowedAddresses);
  const proxy = await startHostProxy({ exceptions, log });
  const builds: BuildContext = {
    server,
    provider,
    networks: openNetworks({ exceptions, log }),
    maxMirrorBytes: cacheBytes,
    bases: new Bases({ provider, server, folder, maxBytes: cacheBytes, log }),
    repositories: openRepositories({
      folder: join(folder, "repositories"),
      proxyUrl: proxy.url,
      sshProxyCommand: `${process.execPath} ${fileURLToPath(new URL("egress/connect.ts", import.meta.url))} %h %p`,
      ...(provider.group === undefined ? {} : { readers: provider.group }),
      allowedPaths: repositoryPaths,
      log,
    }),
  };

  const kept = new KeptSandboxes({ most: slots });
  const worker: WorkerInfo = { worker_id: randomUUID(), name, version, slots };
  const active = new Map<string, { execution: Execution; done: Promise<void> }>();
  const building = new Set<Promise<void>>();
  const stopping = new AbortController();
  const handingBack = new AbortController();
  const stopped = new AbortController();
  let heartbeatMs = 5_000;
  let beating: Promise<void> | undefined;
  let measured: WorkerFigures | undefined;
  let isLooking = false;
  let freed = Promise.withResolvers<void>();

  function begin(assignment: Assignment, sentAt: bigint) {
    const everyMs = Math.max(100, assignment.lease_ms / 6);
    if (heartbeatMs !== everyMs) {
      heartbeatMs = everyMs;
      tick();
    }
    const lease = new Lease({
      sentAt,
      durationMs: assignment.lease_ms,
      extended: (deadline) => active.get(assignment.execution_id)?.execution.extendDeadline(deadline),
    });
    const execution = new Execution({
      assignment,
      server,
      provider,
      builds,
      exceptions,
      kept,
      worker,
      folder,
      lease,
      freeSpace,
      mishaps,
      drain: handingBack.signal,
    });
    const done = execution
      .run()
      .catch((error) => {
        mishaps.add("execution");
        log.error({ reason: execution.reason(error), run_id: assignment.run_id }, "an execution failed");
      })
      .finally(() => {
        active.delete(assignment.execution_id);
        freed.resolve();
        freed = Promise.withResolvers();
      });
    active.set(assignment.execution_id, { execution, done });
  }

  /** Leases count from when a request was sent, and a claim may have waited long: then another request is their start. */
  async function beginAll(executions: Assignment[], claimedAt: bigint) {
    const shortest = Math.min(...executions.map(({ lease_ms }) => lease_ms));
    const sentAt = process.hrtime.bigint();
    if (Number(sentAt - claimedAt) / 1e6 < shortest / 2) {
      for (const assignment of executions) begin(assignment, claimedAt);
      return;
    }
    const ids = executions.map(({ run_id, execution_id }) => ({ run_id, execution_id }));
    const { held } = await server.heartbeat({ worker, executions: ids }, stopped.signal);
    for (const one of executions) if (held.includes(one.execution_id)) begin(one, sentAt);
  }

  /** It takes a slot like a run does. */
  function beginBuild(lease: BuildAssignment) {
    const done = runBuild(builds, { lease, environment: lease.environment, signal: stopping.signal })
      .then(() => {})
      .catch((error) => {
        mishaps.add("build");
        log.error({ error, build_id: lease.build_id }, "a build failed");
      })
      .finally(() => {
        building.delete(done);
        freed.resolve();
        freed = Promise.withResolvers();
      });
    building.add(done);
  }

  stopping.signal.addEventListener("abort", () => freed.resolve(), { once: true });
  const waitInLoop = (ms: number) => pause(ms, undefined, { signal: stopping.signal }).catch(() => {});

  async function claimLoop() {
    for (let request_id = randomUUID(); !stopping.signal.aborted; ) {
      const free = slots - active.size - building.size;
      if (free <= 0) {
        await freed.promise;
        continue;
      }
      if (!(await freeSpace.isEnough())) {
        await waitInLoop(LOOK_AGAIN_MS);
        continue;
      }
      try {
        const sentAt = process.hrtime.bigint();
        const {
          executions,
          builds: waiting,
          draining,
        } = await server.claim({ request_id, worker, free, wait_ms: CLAIM_WAIT_MS }, stopping.signal);
        request_id = randomUUID();
        if (executions.length > 0) {
          // The claim has waited, and the disk may have run full meanwhile.
          if (await freeSpace.isEnough()) await beginAll(executions, sentAt);
          else await releaseAll(executions, stopped.signal);
        }
        for (const build of waiting) beginBuild(build);
        if (draining) stopping.abort();
      } catch (error) {
        if (stopping.signal.aborted) {
          await giveBack(request_id);
          continue;
        }
        // What was refused, as with a key that is no good, will be refused again: asking at once would only fill the logs.
        log.warn({ error }, "cannot claim");
        await waitInLoop(CLAIM_AGAIN_MS);
      }
    }
  }

  async function releaseAll(executions: Assignment[], signal: AbortSignal) {
    for (const { execution_id, run_id } of executions) await server.release(execution_id, { run_id }, signal);
  }

  /** A claim that was granted while we turned to go is asked for once more, without room for anything new, and released. */
  async function giveBack(request_id: string) {
    const signal = AbortSignal.timeout(GIVE_BACK_MS);
    try {
      const { executions } = await server.claim({ request_id, worker, free: 0, wait_ms: 0 }, signal);
      await releaseAll(executions, signal);
    } catch (error) {
      log.warn({ error }, "cannot give back what a last claim may have brought");
    }
  }

  /** No heartbeat waits for it: a disk that does not answer must cost no lease. */
  async function look() {
    if (isLooking) return;
    isLooking = true;
    try {
      const slotsUsed = active.size + building.size;
      const { repositories } = builds;
      const takesWork = !freeSpace.isShort;
      measured = await measure({ folder, provider, repositories, mishaps, slotsUsed, takesWork });
    } catch (error) {
      log.warn({ error }, "cannot tell how this worker fares");
    } finally {
      isLooking = false;
    }
  }

  /** The server's answer is its word on every lease: what it does not name is lost. */
  async function beat() {
    const held = [...active.values()].map(({ execution }) => execution);
    const executions = held.map(({ assignment: { run_id, execution_id } }) => ({ run_id, execution_id }));
    const figures = measured;
    measured = undefined;
    const sentAt = process.hrtime.bigint();
    const answer = await server
      .heartbeat({ worker, executions, ...(figures ? { figures } : {}) }, stopped.signal)
      .catch((error) => {
        if (!figures || !(error instanceof HttpStatusError && error.status === 400)) throw error;
        // Another server has answered this time, of the version before, and it knows of no figures.
        return server.heartbeat({ worker, executions }, stopped.signal);
      });
    // Told with the next heartbeat; the one after that has none, since nobody looks at them so often.
    if (answer.takes_figures && !figures) void look();
    const still = new Set(answer.held);
    for (const { assignment, lease } of held) {
      if (still.has(assignment.execution_id)) lease.extend(sentAt);
      else lease.lose("The server has given the run to somebody else, or it has ended.");
    }
    if (answer.draining) stopping.abort();
  }

  function beatSoon(): Promise<void> {
    beating ??= beat()
      .catch((error) => {
        if (!stopped.signal.aborted) log.warn({ error }, "cannot reach the server");
      })
      .finally(() => {
        beating = undefined;
      });
    return beating;
  }

  function heard({ executions, draining }: Signals) {
    const known = new Map(executions.map((one) => [one.execution_id, one]));
    for (const [id, { execution }] of active) {
      const signal = known.get(id);
      if (signal) execution.heard(signal);
    }
    // A run that is missing here was cancelled, or is too new for this word: the heartbeat's answer tells which.
    // An answer that is on its way may be older than this word.
    if ([...active.keys()].some((id) => !known.has(id))) void Promise.resolve(beating).then(beatSoon);
    if (draining) stopping.abort();
  }

  let ticker: NodeJS.Timeout | undefined;
  /** What a slow answer took has passed of the lease that it brought. */
  function tick(passedMs = 0) {
    clearTimeout(ticker);
    ticker = setTimeout(
      async () => {
        const began = performance.now();
        await beatSoon();
        if (!stopped.signal.aborted) tick(performance.now() - began);
      },
      Math.max(0, heartbeatMs - passedMs),
    );
  }
  tick();
  const listening = server.signals(worker.worker_id, heard, stopped.signal);
  const claiming = claimLoop();

  const idle = async () => {
    await claiming;
    await Promise.all([...[...active.values()].map(({ done }) => done), ...building]);
  };

  return {
    workerId: worker.worker_id,
    drained: idle(),
    async drain() {
      stopping.abort();
      const timer = setTimeout(() => handingBack.abort(), drainMs);
      await idle();
      clearTimeout(timer);
      clearTimeout(ticker);
      stopped.abort();
      await listening;
      await kept.closeAll();
      await provider.stop();
      await proxy.close();
      server.stop();
    },
  };
}
