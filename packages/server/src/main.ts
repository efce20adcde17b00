import { randomUUID } from "node:crypto";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { signInLinkUrl } from "@outrider/contract/auth/sign-in";
import { openTelemetry } from "@outrider/telemetry/open-telemetry";
import type { Logger } from "pino";
import { type HttpServer, openHttpServer, requireFreePort } from "./api/http/http-server.ts";
import { loadWeb } from "./api/pages/web.ts";
import { createApp } from "./api/pipeline/app.ts";
import { Streams } from "./api/streams/streams.ts";
import { isLoopback, isWithin } from "./config/exposure.ts";
import type { Config } from "./config.ts";
import { loadOrCreateMasterKey, writePrivateFile } from "./engine/auth/master-key.ts";
import { storeOrigin } from "./engine/auth/sign-in-links.ts";
import { openVault } from "./engine/auth/vault.ts";
import { openAdmission } from "./engine/dispatch/admission.ts";
import { Claimer } from "./engine/dispatch/claimer.ts";
import { DemandReader } from "./engine/dispatch/demand.ts";
import { Heartbeats } from "./engine/dispatch/heartbeats.ts";
import { startReaper } from "./engine/dispatch/reaper.ts";
import { SignalReader } from "./engine/dispatch/signals.ts";
import { WaitingClaims } from "./engine/dispatch/waiting-claims.ts";
import { WakeUps } from "./engine/dispatch/wake-ups.ts";
import { WorkerAccess } from "./engine/dispatch/worker-access.ts";
import { Forges } from "./engine/forges/forges.ts";
import { openHarnesses } from "./engine/harnesses/harnesses.ts";
import { createListLimiter } from "./engine/limits/list-limiter.ts";
import { Rates } from "./engine/limits/rates.ts";
import { openDeltas } from "./engine/live/deltas.ts";
import { openPubSub } from "./engine/live/pubsub.ts";
import { openRunWatcher } from "./engine/live/run-watcher.ts";
import { openServerChannel } from "./engine/live/server-channel.ts";
import { openLiveModels } from "./engine/models/live-models.ts";
import { ModelProviders } from "./engine/models/model-providers.ts";
import { createFirstUser, renewLocalWorkerKey, requireSameMasterKey } from "./engine/operations/bootstrap.ts";
import { startCleanup } from "./engine/operations/cleanup.ts";
import { Counters } from "./engine/operations/counters.ts";
import { startDatabaseHealth } from "./engine/operations/database-health.ts";
import { startDueWork } from "./engine/operations/due-work.ts";
import { openMaintenance } from "./engine/operations/maintenance.ts";
import { openOwnBlobs } from "./engine/own-blobs.ts";
import { startPublicationReaper } from "./engine/publishing/publication-reaper.ts";
import { startPullRequestTasks } from "./engine/publishing/pull-request-tasks.ts";
import { defaultRunPolicy } from "./engine/runs/run-policy.ts";
import { startShellReaper } from "./engine/shells/shell-reaper.ts";
import { startUsageTasks } from "./engine/usage/usage-tasks.ts";
import { createLogger } from "./logging/logger.ts";
import { OutboundNetwork } from "./outbound/outbound-network.ts";
import { startEmbedded } from "./postgres/embedded-postgres.ts";
import { startConnectionWatchdog } from "./store/connection/connection-watchdog.ts";
import { type Db, isRemote, openDb, requireSupportedVersion } from "./store/connection/db.ts";
import { requireNoPooler, requireUsablePooler } from "./store/connection/pooler.ts";
import { TrackedSockets } from "./store/connection/tracked-sockets.ts";
import { ensureInstallationId } from "./store/installation.ts";
import { migrate } from "./store/migrate.ts";

/** Claims, the sender and the listener of notifications, and the watchdog have a connection each. */
const RESERVED_CONNECTIONS = 4;

export interface Server {
  /** The URL that the server listens on, without a path. */
  origin: string;
  /** The URL for workers on this machine. */
  localOrigin: string;
  /** Present if the server terminates TLS itself. */
  certificate?: NonNullable<HttpServer["certificate"]>;
  /** The file with the first API key, if this start created the key. */
  firstKey?: string;
  /** The first user's one-time sign-in link, if this start created the user. */
  firstLink?: string;
  database: string;
  /** A sentence about the default model and the providers, for the startup banner. */
  models: string;
  /** Creates a key for the workers that the server starts, and revokes the previous one. */
  localWorkerKey(): Promise<string>;
  /** Logs lines of every level from now on. Before this call, a terminal shows only warnings and errors. */
  showLog(): void;
  /** Finishes requests, ends streams, then stops all parts of the server. */
  stop(): Promise<void>;
}

/**
 * The composition root. Creates every part of the server, each after the parts that it depends on. `stop` stops the
 * parts in reverse order. A start that fails halfway also stops the parts that were already created.
 */
export async function startServer(config: Config): Promise<Server> {
  const counters = new Counters();
  const { log, output } = createLogger(config, counters);
  const settings = config.models();
  const harnessSettings = config.harnesses();
  const web = loadWeb();
  const stops: (() => Promise<unknown>)[] = [];
  const stop = once(async () => {
    for (const step of stops.reverse())
      await step().catch((error) => log.error({ error }, "failed to stop a part of the server"));
  });
  try {
    await requireFreePort(config);
    const telemetry =
      config.telemetry &&
      (await openTelemetry(config.telemetry, {
        serviceName: "outrider-server",
        instanceId: randomUUID(),
        onFailed: (reason) => log.warn({ reason }, "failed to export telemetry"),
      }));
    const closeTelemetry = once(async () => telemetry?.close());
    stops.push(closeTelemetry);
    if (telemetry?.log) output.exportTo(telemetry.log);
    await mkdir(config.dataDir, { recursive: true, mode: 0o711 });
    const embedded = config.databaseUrl ? undefined : await startEmbedded({ dataDir: config.dataDir, log });
    if (embedded) stops.push(() => embedded.stop());
    const database = config.databaseUrl ?? (embedded as NonNullable<typeof embedded>).connection;
    const isPooled = config.databaseDirectUrl !== undefined;
    const sockets = new TrackedSockets();
    const poolSize = config.databaseConnections - RESERVED_CONNECTIONS;
    const db = openDb(database, { connections: poolSize, sockets, isPooled });
    stops.push(() => db.end({ timeout: 5 }));
    const claims = openDb(database, { connections: 1, sockets, isPooled });
    stops.push(() => claims.end({ timeout: 5 }));
    // Comes after the parts that log and before the database, which the last metrics are read from.
    stops.push(closeTelemetry);
    await prepareDatabase(db, config, log);
    await requireSupportedVersion(claims);

    const vault = openVault(config.masterKey ?? (await loadOrCreateMasterKey(config.dataDir)));
    await requireSameMasterKey(db, vault);
    await ensureInstallationId(db);
    if (isRemote(database)) {
      const watchdogDb = openDb(database, { connections: 1, sockets, isPooled });
      stops.push(() => watchdogDb.end({ timeout: 0 }));
      await requireSupportedVersion(watchdogDb);
      const onDropped = () => counters.failed("connection_watchdog");
      stops.push(startConnectionWatchdog({ db: watchdogDb, sockets, isPooled, onDropped, log }).stop);
    }
    const allowsLoopback = isLoopback(config.host) && config.publicUrl === undefined;
    const addressPolicy = allowsLoopback ? "public_or_loopback" : "public";
    const models = await openLiveModels({ db, vault, configured: settings, addressPolicy, log });
    const networks = {
      checked: new OutboundNetwork({ ...config.outboundNetwork, allowsLoopback }),
      unchecked: new OutboundNetwork({ ...config.outboundNetwork, allowsAll: true }),
    };
    stops.push(() => Promise.all(Object.values(networks).map((network) => network.close())));
    const references = Object.entries(harnessSettings).flatMap(([name, { small_model_id: modelId }]) =>
      modelId ? [{ by: `The harness \`${name}\``, modelId }] : [],
    );
    const modelProviders = new ModelProviders({ configured: settings, models, vault, networks, references });
    const harnesses = openHarnesses(harnessSettings, models);
    const forgeNetwork = new OutboundNetwork(config.outboundNetwork);
    stops.push(() => forgeNetwork.close());
    const forges = new Forges({ db, vault, network: forgeNetwork });
    const { default_model_id } = models.list;
    const activeProviders = models
      .current()
      .views()
      .flatMap(({ name, available }) => (available ? name : []));
    log.info({ providers: activeProviders, default_model_id }, "models configured");

    const applicationName = "outrider pubsub";
    const sender = openDb(database, { connections: 1, sockets, isPooled, applicationName });
    stops.push(() => sender.end({ timeout: 5 }));
    await requireSupportedVersion(sender);
    // Behind a pooler, the watchdog does not observe this connection, because what it receives says nothing about the pooler.
    const listenerSockets = isPooled ? {} : { sockets };
    const channel = await openServerChannel({
      db: sender,
      open: () =>
        openDb(config.databaseDirectUrl ?? database, { connections: 1, ...listenerSockets, applicationName }),
      counters,
      log,
    });
    stops.push(() => channel.close());
    const pubsub = openPubSub(channel);
    stops.push(async () => pubsub.close());
    const wakeUps = new WakeUps({ channel, pubsub });
    stops.push(async () => wakeUps.close());
    const deltas = openDeltas(channel, counters);
    stops.push(async () => deltas.close());
    const runWatcher = openRunWatcher({ db, pubsub, counters, log });
    stops.push(() => runWatcher.close());
    const blobs = await openOwnBlobs(config.blobs, { db, log });
    stops.push(models.follow({ pubsub, counters }).stop);
    const maintenance = await openMaintenance({ db, pubsub, counters, log });
    stops.push(maintenance.stop);
    const cleanup = startCleanup({
      db,
      blobs,
      retention: config.retention,
      isEnabled: maintenance.acceptsWrites,
      counters,
      log,
    });
    stops.push(cleanup.stop);
    const admission = await openAdmission({
      folders: {
        data: config.dataDir,
        ...(blobs.storage.folder ? { blobs: blobs.storage.folder } : {}),
        ...(embedded ? { database: join(config.dataDir, "postgres") } : {}),
      },
      minFreeBytes: config.minFreeBytes,
      ...(embedded ? { relieve: () => db`checkpoint` } : {}),
      maintenance,
      log,
    });
    stops.push(admission.stop);
    const databaseHealth = startDatabaseHealth({ ping: maintenance.read, log });
    stops.push(databaseHealth.stop);
    const rates = new Rates(db);
    stops.push(() => rates.close());
    const policy = { ...defaultRunPolicy, ...config.policy };
    const reaper = startReaper(db, policy, { log, pubsub, wakeUps, counters });
    stops.push(reaper.stop);
    const shellReaper = startShellReaper({ db, vault, pubsub, counters, log });
    stops.push(shellReaper.stop);
    const publicationReaper = startPublicationReaper({ db, pubsub, counters, log });
    stops.push(publicationReaper.stop);
    const usageTasks = startUsageTasks({ db, isEnabled: maintenance.acceptsWrites, counters, log });
    stops.push(usageTasks.stop);
    const stopping = new AbortController();
    const httpServer = await openHttpServer({ config, isProxy: isWithin(config.trustProxy), log });
    stops.push(async () => httpServer.close());
    const pullRequestTasks = startPullRequestTasks({
      ...{
        db,
        forges,
        gitHost: config.gitHost,
        harnesses,
        quotas: config.quotas,
        pubsub,
        wakeUps,
        counters,
        log,
      },
      isAdmitted: admission.isOpen,
      isEnabled: maintenance.acceptsWrites,
      origin: httpServer.origin,
    });
    stops.push(pullRequestTasks.stop);
    const tasks = {
      closeShells: shellReaper,
      reapPublications: publicationReaper,
      openPullRequests: pullRequestTasks.opener,
      pollPullRequests: pullRequestTasks.poller,
    };
    stops.push(startDueWork({ db, tasks, counters, log }).stop);
    const waitingClaims = new WaitingClaims();
    const claimer = new Claimer({
      ...{
        db,
        claims,
        waitingClaims,
        vault,
        models,
        harnesses,
        policy,
        gitHost: config.gitHost,
        wakeUps,
        pubsub,
        maintenance,
      },
    });
    const signalReader = new SignalReader({ db, pubsub });
    stops.push(async () => signalReader.close());
    const services = {
      db,
      claimer,
      waitingClaims,
      wakeUps,
      workerAccess: new WorkerAccess(),
      heartbeats: new Heartbeats({ db, leaseMs: policy.leaseMs }),
      demand: new DemandReader(db),
      signalReader,
      vault,
      models,
      modelProviders,
      harnesses,
      forges,
      policy,
      gitHost: config.gitHost,
      runWatcher,
      pubsub,
      deltas,
      blobs,
      admission,
      databaseHealth,
      rates,
      quotas: config.quotas,
      retention: config.retention,
      minFreeBytes: config.minFreeBytes,
      maintenance,
      counters,
      origin: httpServer.origin,
      listLimiter: createListLimiter(poolSize),
      streams: new Streams(
        { max: config.maxStreams, maxPerCaller: config.maxStreamsPerKey },
        stopping.signal,
      ),
      stopping: stopping.signal,
      telemetry,
      log,
    };
    const app = createApp({
      services,
      httpServer,
      web,
      trustProxy: config.trustProxy,
      corsOrigins: config.corsOrigins,
      log,
    });
    stops.push(() => app.close());
    stops.push(async () => stopping.abort());
    await httpServer.listen(app);
    await storeOrigin(db, httpServer.origin());
    // Comes last: if anything above fails, the next start is still the first one, and prints the sign-in link.
    const keyFile = join(config.dataDir, "key");
    const firstLink = await createFirstUser(db, (raw) => writePrivateFile(keyFile, `${raw}\n`));
    const { certificate } = httpServer;
    return {
      origin: httpServer.listenUrl(),
      localOrigin: httpServer.localOrigin(),
      ...(certificate ? { certificate } : {}),
      database: embedded ? `PostgreSQL 18 in ${config.dataDir}` : "PostgreSQL at DATABASE_URL",
      models:
        activeProviders.length > 0
          ? `${default_model_id} by default; providers: ${activeProviders.join(", ")}`
          : "scripted only, which is not an LLM; connect one in the web app under Settings → Models",
      localWorkerKey: () => renewLocalWorkerKey(db),
      showLog: () => output.endQuietStart(),
      ...(firstLink
        ? { firstKey: keyFile, firstLink: signInLinkUrl(httpServer.origin(), firstLink.token) }
        : {}),
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Checks the addresses of the database and applies migrations, which need a direct connection. */
async function prepareDatabase(db: Db, { databaseUrl, databaseDirectUrl }: Config, log: Logger) {
  if (databaseDirectUrl === undefined) {
    if (databaseUrl) await requireNoPooler(db, requireSupportedVersion);
    else await requireSupportedVersion(db);
    return applyMigrations(db, log);
  }
  const direct = openDb(databaseDirectUrl, { connections: 1 });
  try {
    for (const pool of [direct, db]) await requireSupportedVersion(pool);
    await requireUsablePooler({ pooled: db, direct });
    await applyMigrations(direct, log);
  } finally {
    await direct.end({ timeout: 5 });
  }
}

async function applyMigrations(db: Db, log: Logger) {
  const applied = await migrate(db);
  if (applied.length > 0) log.info({ applied }, "database migrated");
}

function once<T>(work: () => Promise<T>): () => Promise<T> {
  let result: Promise<T> | undefined;
  return () => (result ??= work());
}
