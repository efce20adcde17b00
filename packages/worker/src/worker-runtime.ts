import { randomUUID } from "node:crypto";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Assignment, Signals, WorkerInfo } from "@outrider/contract/worker";
import type { BuildAssignment } from "@outrider/contract/worker/build";
import type { ShellAssignment } from "@outrider/contract/worker/shell";
import type { WorkerLabels } from "@outrider/contract/worker-pool";
import { failCurrent } from "@outrider/telemetry/spans";
import type { Telemetry } from "@outrider/telemetry/telemetry";
import { ActiveWork } from "./active-work.ts";
import { type BuildContext, runBuild } from "./builds/build.ts";
import { BuildBases } from "./builds/build-bases.ts";
import { createEgressSessions } from "./egress/egress-session.ts";
import { startHostProxy } from "./egress/host-proxy.ts";
import { Presets } from "./egress/presets/presets.ts";
import { type NetworkSettings, openWorkerNetwork } from "./egress/worker-network.ts";
import { runOnBehalfOf } from "./event-loop-watchdog/current-work.ts";
import { FreeSpace } from "./free-space.ts";
import { HarnessInstaller } from "./harnesses/install/harness-installer.ts";
import { npmNetwork } from "./harnesses/install/npm.ts";
import { Heartbeat } from "./heartbeat.ts";
import type { Log } from "./log.ts";
import { ProposalReader } from "./proposals/proposal-reader.ts";
import { PublicationPusher } from "./publishing/publication-pusher.ts";
import { openRepositories } from "./repositories/repositories.ts";
import { Execution } from "./run/execute.ts";
import { Lease } from "./run/lease.ts";
import { WarmSandboxes } from "./run/warm-sandboxes.ts";
import { FileRequestReader } from "./run-files/file-request-reader.ts";
import { openChosenProvider, type SandboxChoice } from "./sandboxes/choose-provider.ts";
import type { DockerSettings } from "./sandboxes/docker-settings.ts";
import type { KubernetesSettings } from "./sandboxes/kubernetes-settings.ts";
import { LostSandboxes } from "./sandboxes/lost-sandboxes.ts";
import type { ProviderOptions } from "./sandboxes/open-provider.ts";
import { connectToServer, type ServerClient } from "./server-client/server-client.ts";
import { runShell } from "./shells/shell.ts";
import { collectStats, ErrorCounts } from "./stats.ts";
import { inExecutionSpan } from "./telemetry/execution-span.ts";

const CACHE_BYTES = 20 * 2 ** 30;
/** How long a server that does not respond delays the start. The worker then uses what it knows from an earlier start. */
const INSTALLATION_MS = 15_000;
const MIN_FREE_BYTES = 256 * 2 ** 20;

export interface WorkerOptions extends NetworkSettings {
  url: string;
  key: string;
  /** A PEM file with a certificate to trust in addition to the default authorities. */
  ca?: string;
  name: string;
  version: string;
  slots: number;
  /** The worker executes runs that select this pool. Default: `default`. */
  pool?: string;
  /** Runs can select the worker by these. */
  labels?: WorkerLabels;
  /** The folder for sandboxes, caches and files to upload. No other worker may use it. */
  folder: string;
  /** The kind of sandboxes. Default: local. */
  sandbox?: SandboxChoice;
  /** The engine for sandboxes of the kind `docker`. */
  docker?: DockerSettings;
  /** The cluster for sandboxes of the kind `kubernetes`. */
  kubernetes?: KubernetesSettings;
  /** Files and folders of this machine that local sandboxes see. */
  mounts?: NonNullable<ProviderOptions["mounts"]>;
  /** How long a draining worker lets its runs continue before it returns them to the server. */
  drainMs: number;
  /** Folders on this machine from which repositories may be cloned. */
  repositoryPaths?: string[];
  /** Disk space limit for builds and their chunks and, separately, for image layers and for repository mirrors. */
  cacheBytes?: number;
  /** The folder for the npm packages of agents, which several workers can share. Default: a subfolder of `folder`. */
  harnessCache?: string;
  /** A folder with agents that `outrider harness install --folder` has filled. With it, the worker downloads none. */
  harnessFolder?: string;
  /** The worker claims nothing while its disk has less free space than this. */
  minFreeBytes?: number;
  /** The folder of the worker's main process, if this one executes an isolated run. */
  mainFolder?: string;
  /** The processes of one worker share its id. Defaults to a new one. */
  workerId?: string;
  /** Set if the worker runs in a process under a supervisor. Without one, it isolates no runs. */
  supervisor?: SupervisorLink;
  /** Traces the executions of the worker. */
  telemetry?: Telemetry | undefined;
  log: Log;
}

/** What a worker tells its supervisor, which must know at any time what to return if it kills the process. */
export interface SupervisorLink {
  /** How many processes of this worker were killed because they were unresponsive. */
  readonly stalls: number;
  /** The isolated runs that an earlier process of this worker started. Each settles when the run's process exits. */
  readonly isolatedRuns: Promise<void>[];
  onClaim(requestId: string): void;
  /** Called when the server has accepted a claim. */
  onAccepted(): void;
  /** Called before executions that were claimed together start. */
  onStarting(assignments: Assignment[]): void;
  onEnded(assignment: Assignment): void;
  /** Executes an assignment in a process of its own. Resolves when that process has exited. */
  isolate(assignment: Assignment): Promise<void>;
}

/** Everything that a worker process needs to execute runs and builds. */
export interface WorkerRuntime {
  server: ServerClient;
  worker: WorkerInfo;
  active: ActiveWork;
  freeSpace: FreeSpace;
  log: Log;
  /** The kind of the worker's sandboxes. */
  sandbox: string;
  /** Whether sandboxes can be opened now. */
  isAvailable(): Promise<boolean>;
  /** Aborts when the worker must stop claiming work. */
  stopping: AbortController;
  /** Aborts when the worker stops talking to the server. */
  stopped: AbortSignal;
  /** `leaseStart` is the time at which the executions' leases start. */
  startExecutions(assignments: Assignment[], leaseStart: bigint): void;
  startBuild(assignment: BuildAssignment): void;
  /** `leaseStart` is the time at which the shell's lease starts. */
  startShell(assignment: ShellAssignment, leaseStart: bigint): void;
  /** Stops claiming, lets running work finish or returns it, then shuts down. `idle` waits for the running work. */
  drain(idle: () => Promise<void>): Promise<void>;
}

/** `reportsStats` is false for a process whose stats would replace those of the worker's main process. */
export async function openWorkerRuntime(
  options: WorkerOptions,
  { reportsStats }: { reportsStats: boolean },
): Promise<WorkerRuntime> {
  const { url, key, name, version, slots, folder, mounts = [], drainMs, supervisor } = options;
  const { repositoryPaths = [], cacheBytes = CACHE_BYTES } = options;
  const { exceptions, upstream, certificates } = openWorkerNetwork(options);
  const errorCounts = new ErrorCounts();
  const log = errorCounts.countLines(options.log);
  const freeSpace = new FreeSpace({ folder, minFreeBytes: options.minFreeBytes ?? MIN_FREE_BYTES, log });
  const server = connectToServer({
    url,
    key,
    ...(options.ca ? { ca: options.ca } : {}),
    onUntrusted: (reason) => log.error({ reason }, "server certificate is not trusted"),
    onRetry: () => errorCounts.add("server_retry"),
  });
  const onOpenFailed = () => errorCounts.add("sandbox");
  const provider = await openChosenProvider(options.sandbox ?? "local", {
    ...(options.docker ? { docker: options.docker } : {}),
    ...(options.kubernetes ? { kubernetes: options.kubernetes } : {}),
    ...{ server: url, exceptions, upstream, maxLayerBytes: cacheBytes, mounts, onOpenFailed, log },
    root: join(folder, "sandboxes"),
    ...(options.mainFolder ? { mainRoot: join(options.mainFolder, "sandboxes") } : {}),
    findInstallation: () =>
      server.installationId(AbortSignal.timeout(INSTALLATION_MS)).catch(() => undefined),
    hasIsolatedRuns: (supervisor?.isolatedRuns.length ?? 0) > 0,
  });
  await provider.check();
  const removed = await provider.reap(() => false);
  if (removed.length > 0) log.info({ count: removed.length }, "removed sandboxes of an earlier worker");
  const lostSandboxes = new LostSandboxes({ provider, log });

  const transfersFolder = join(folder, "transfers");
  await rm(transfersFolder, { recursive: true, force: true }); // files of an earlier worker

  const proxy = await startHostProxy({ exceptions, upstream, log });
  const repositories = openRepositories({
    folder: join(folder, "repositories"),
    proxyUrl: proxy.url,
    sshProxyCommand: `${process.execPath} ${fileURLToPath(new URL("egress/ssh-proxy-command.ts", import.meta.url))} %h %p`,
    ...(certificates ? { caFile: certificates.bundleFile } : {}),
    allowedPaths: repositoryPaths,
    log,
  });
  const harnessInstaller = new HarnessInstaller({
    cache: options.harnessCache ?? join(folder, "harnesses"),
    folder: options.harnessFolder,
    environment: { ...options.toolEnvironment, ...npmNetwork(options, certificates?.bundleFile) },
  });
  const worker: WorkerInfo = { worker_id: options.workerId ?? randomUUID(), name, version, slots };
  const buildContext: BuildContext = {
    workerId: worker.worker_id,
    server,
    provider,
    repositories,
    egressSessions: createEgressSessions({
      ...{ exceptions, upstream, log },
      presets: new Presets({ environment: options.toolEnvironment ?? {} }),
      certificates,
    }),
    networkFolder: join(folder, "tool-config"),
    maxMirrorBytes: cacheBytes,
    bases: new BuildBases({
      ...{ provider, server, folder: transfersFolder, chunksFolder: join(folder, "chunks") },
      ...{ maxBytes: cacheBytes, log },
    }),
  };

  const warmSandboxes = new WarmSandboxes({ max: slots });
  const stopping = new AbortController();
  /** Aborts when runs that are still executing must be returned to the server. */
  const returning = new AbortController();
  const stopped = new AbortController();
  const active = new ActiveWork({ slots, stopping: stopping.signal });
  let isAvailable = true;
  const collect = () => {
    errorCounts.counts.stall = supervisor?.stalls ?? 0;
    return collectStats({
      ...{ folder, provider, bases: buildContext.bases, repositories, harnessInstaller, errorCounts },
      slotsUsed: active.usedSlots,
      acceptsWork: !freeSpace.isLow && isAvailable,
    });
  };
  const heartbeat = new Heartbeat({
    server,
    worker,
    active,
    ...(reportsStats ? { collectStats: collect } : {}),
    onDraining: () => stopping.abort(),
    stopped: stopped.signal,
    log,
  });

  function startExecutions(assignments: Assignment[], leaseStart: bigint) {
    if (assignments.length > 0) supervisor?.onStarting(assignments);
    for (const assignment of assignments) startExecution(assignment, leaseStart);
  }

  function startExecution(assignment: Assignment, leaseStart: bigint) {
    heartbeat.setLeaseDuration(assignment.lease_ms);
    const { run_id, execution_id } = assignment;
    runOnBehalfOf({ run_id, execution_id }, () => {
      const lease = new Lease({
        sentAt: leaseStart,
        durationMs: assignment.lease_ms,
        onExtended: (deadline) => active.findExecution(execution_id)?.extendDeadline(deadline),
      });
      const execution = new Execution({
        assignment,
        server,
        provider,
        builds: buildContext,
        exceptions,
        upstream,
        warmSandboxes,
        harnessInstaller,
        worker,
        folder,
        lease,
        freeSpace,
        errorCounts,
        log,
        drain: returning.signal,
      });
      const work = inExecutionSpan(options.telemetry, { assignment, worker }, () =>
        execution.run().catch((error) => {
          errorCounts.add("execution");
          failCurrent("internal_error");
          log.error({ reason: execution.describeError(error), run_id }, "execution failed");
        }),
      ).finally(() => supervisor?.onEnded(assignment));
      active.addExecution(execution, work);
    });
  }

  function startBuild(lease: BuildAssignment) {
    const { build_id, environment } = lease;
    const work = runOnBehalfOf({ build_id }, () =>
      runBuild(buildContext, { lease, environment, signal: stopping.signal }),
    )
      .then(() => {})
      .catch((error) => {
        errorCounts.add("build");
        log.error({ error, build_id }, "build failed");
      });
    active.occupySlot(work);
  }

  function startShell(assignment: ShellAssignment, leaseStart: bigint) {
    const { shell_id } = assignment;
    const work = runOnBehalfOf({ shell_id }, () =>
      runShell(buildContext, { assignment, leaseStart, drain: returning.signal }),
    ).catch((error) => {
      errorCounts.add("build");
      log.error({ error, shell_id }, "shell failed");
    });
    active.occupySlot(work);
  }

  const proposals = new ProposalReader({
    ...{ server, worker, repositories, maxMirrorBytes: cacheBytes, log },
    stopping: stopping.signal,
  });
  const publications = new PublicationPusher({
    ...{ server, worker, repositories, log },
    stopping: stopping.signal,
  });
  const files = new FileRequestReader({
    ...{ server, worker, builds: buildContext, freeSpace, folder: transfersFolder, log },
    findRun: (runId) =>
      active.listExecutions().find(({ assignment }) => assignment.run_id === runId)?.files ??
      warmSandboxes.find(runId),
    opensStored: reportsStats,
    stopping: stopping.signal,
  });
  const handleSignals = (signals: Signals) => {
    heartbeat.handleSignals(signals);
    // All processes of a worker receive its signals.
    files.handleSignals(signals);
    if (!reportsStats) return;
    proposals.handleSignals(signals);
    publications.handleSignals(signals);
  };
  if (reportsStats) lostSandboxes.start();
  const listening = server.signals(worker.worker_id, handleSignals, stopped.signal);

  return {
    ...{ server, worker, active, freeSpace, log, stopping, startExecutions, startBuild, startShell },
    sandbox: provider.kind,
    async isAvailable() {
      isAvailable = (await provider.isAvailable?.()) ?? true;
      return isAvailable;
    },
    stopped: stopped.signal,
    async drain(idle) {
      stopping.abort();
      const timer = setTimeout(() => returning.abort(), drainMs);
      await idle();
      await Promise.all([proposals.finished(), publications.finished(), files.finished()]);
      clearTimeout(timer);
      heartbeat.stop();
      stopped.abort();
      await listening;
      await warmSandboxes.closeAll();
      lostSandboxes.stop();
      await provider.stop();
      await proxy.close();
      server.stop();
    },
  };
}
