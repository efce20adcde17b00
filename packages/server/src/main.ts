import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { linkAddress } from "@outrider/contract/sign-in";
import { type Logger, type LoggerOptions, pino } from "pino";
import { createApp } from "./api/app.ts";
import { type Front, openFront } from "./api/front.ts";
import { Streams } from "./api/streams.ts";
import { loadWeb } from "./api/web.ts";
import { isWithin } from "./config/exposure.ts";
import type { Config } from "./config.ts";
import { openBlobs } from "./engine/blobs.ts";
import { openBrake } from "./engine/brake.ts";
import { Claimants } from "./engine/claimants.ts";
import { openDeltas } from "./engine/deltas.ts";
import { openIntake } from "./engine/intake.ts";
import { startJanitor } from "./engine/janitor.ts";
import { startReaper } from "./engine/leases.ts";
import { ownMasterKey, writePrivately } from "./engine/master-key.ts";
import { settleProviders } from "./engine/model-keys.ts";
import { openModels } from "./engine/models.ts";
import { startPulse } from "./engine/pulse.ts";
import { Rates } from "./engine/rates.ts";
import { defaultRules } from "./engine/rules.ts";
import { openSearches } from "./engine/searches.ts";
import { noteOrigin } from "./engine/sign-in-links.ts";
import { Tally } from "./engine/tally.ts";
import { openVault } from "./engine/vault.ts";
import { openWake } from "./engine/wake.ts";
import { openWatch } from "./engine/watch.ts";
import { renewLocalWorkerKey, requireSameMasterKey, welcomeFirstPerson } from "./engine/welcome.ts";
import { logOutput } from "./log-output.ts";
import { type Db, isRemote, openDb, requireSupportedVersion } from "./store/db.ts";
import { startEmbedded } from "./store/embedded.ts";
import { keepLifeline } from "./store/lifeline.ts";
import { Lines } from "./store/lines.ts";
import { migrate } from "./store/migrate.ts";

const CONNECTIONS = 32;

export interface Server {
  /** Where it listens, without a path. */
  origin: string;
  /** How what runs on this machine reaches it. */
  localOrigin: string;
  /** Where it speaks TLS itself. */
  certificate?: NonNullable<Front["certificate"]>;
  /** Where the first key was written, if this start made it. */
  firstKey?: string;
  /** The one-time link by which the first person signs in, if this start made it. */
  firstLink?: string;
  database: string;
  /** Which model serves where none is named, and whose there are. */
  models: string;
  /** A fresh key for the workers that are started with the server; the one before is revoked. */
  localWorkerKey(): Promise<string>;
  /** Finishes requests, ends streams, then stops everything that it started. */
  stop(): Promise<void>;
}

/** The composition root: everything is made here, from the bottom up, and stopped from the top down. */
export async function startServer(config: Config): Promise<Server> {
  const tally = new Tally();
  const log = createLogger(config, tally);
  const settings = config.models();
  const web = loadWeb();
  const stops: (() => Promise<unknown>)[] = [];
  const stop = once(async () => {
    for (const step of stops.reverse())
      await step().catch((error) => log.error({ error }, "a part did not stop"));
  });
  try {
    await mkdir(config.dataDir, { recursive: true, mode: 0o711 });
    const embedded = config.databaseUrl ? undefined : await startEmbedded({ dataDir: config.dataDir, log });
    if (embedded) stops.push(() => embedded.stop());
    const database = config.databaseUrl ?? (embedded as NonNullable<typeof embedded>).connection;
    const lines = new Lines();
    const db = openDb(database, { connections: CONNECTIONS, lines });
    stops.push(() => db.end({ timeout: 5 }));
    const claims = openDb(database, { connections: 1, lines });
    stops.push(() => claims.end({ timeout: 5 }));
    await prepareDatabase(db, log);
    await requireSupportedVersion(claims);

    const vault = openVault(config.masterKey ?? (await ownMasterKey(config.dataDir)));
    await requireSameMasterKey(db, vault);
    if (isRemote(database)) {
      const line = openDb(database, { connections: 1, lines });
      stops.push(() => line.end({ timeout: 0 }));
      await requireSupportedVersion(line);
      const dropped = () => tally.failed("lifeline");
      stops.push(keepLifeline({ db: line, lines, dropped, log }).stop);
    }
    const providers = await settleProviders(db, vault, log, settings);
    const models = openModels({ ...settings, providers });
    const { default_model_id } = models.list;
    const inUse = Object.keys(providers).filter((name) => providers[name]?.reason === undefined);
    log.info({ providers: inUse, default_model_id }, "models");
    const keyFile = join(config.dataDir, "key");
    const firstLink = await welcomeFirstPerson(db, (raw) => writePrivately(keyFile, `${raw}\n`));

    // What servers tell each other may be lost, so none of it waits for the disk.
    const openWords = (connections: number) =>
      openDb(database, {
        connections,
        lines,
        applicationName: "outrider words",
        settings: { synchronous_commit: "off" },
      });
    const words = openWords(2);
    stops.push(() => words.end({ timeout: 5 }));
    await requireSupportedVersion(words);
    const voice = { db: words, open: () => openWords(1), tally, log };
    const wake = await openWake(voice);
    stops.push(() => wake.close());
    const deltas = await openDeltas(voice);
    stops.push(() => deltas.close());
    const watch = openWatch({ db, wake, tally, log });
    stops.push(() => watch.close());
    const blobs = openBlobs(join(config.dataDir, "blobs"), db);
    const brake = await openBrake({ db, wake, tally, log });
    stops.push(brake.stop);
    const janitor = startJanitor({
      db,
      blobs,
      retention: config.retention,
      isWanted: brake.takesWrites,
      tally,
      log,
    });
    stops.push(janitor.stop);
    const intake = await openIntake({
      folders: {
        data: config.dataDir,
        blobs: blobs.folder,
        ...(embedded ? { database: join(config.dataDir, "postgres") } : {}),
      },
      minFreeBytes: config.minFreeBytes,
      ...(embedded ? { relieve: () => db`checkpoint` } : {}),
      brake,
      log,
    });
    stops.push(intake.stop);
    const pulse = startPulse(db, log);
    stops.push(pulse.stop);
    const rates = new Rates(db);
    stops.push(async () => rates.close());
    const rules = { ...defaultRules, ...config.rules };
    const reaper = startReaper(db, rules, { log, wake, tally });
    stops.push(reaper.stop);
    const stopping = new AbortController();
    const front = await openFront({ config, isProxy: isWithin(config.trustProxy), log });
    stops.push(async () => front.close());
    const services = {
      db,
      claims,
      claimants: new Claimants(),
      vault,
      models,
      rules,
      gitHost: config.gitHost,
      watch,
      wake,
      deltas,
      blobs,
      intake,
      pulse,
      rates,
      quotas: config.quotas,
      retention: config.retention,
      minFreeBytes: config.minFreeBytes,
      brake,
      tally,
      origin: front.origin,
      searches: openSearches(),
      streams: new Streams({ most: config.maxStreams, mostEach: config.maxStreamsPerKey }, stopping.signal),
      stopping: stopping.signal,
    };
    const app = createApp({ services, front, web, trustProxy: config.trustProxy, log });
    stops.push(() => app.close());
    stops.push(async () => stopping.abort());
    await front.listen(app);
    await noteOrigin(db, front.origin());
    const { certificate } = front;
    return {
      origin: front.listening(),
      localOrigin: front.localOrigin(),
      ...(certificate ? { certificate } : {}),
      database: embedded ? `PostgreSQL 18 in ${config.dataDir}` : "PostgreSQL of DATABASE_URL",
      models:
        inUse.length > 0
          ? `${default_model_id} if a run names none; providers: ${inUse.join(", ")}`
          : "scripted, which is not an LLM; docs/models.md says how to configure one",
      localWorkerKey: () => renewLocalWorkerKey(db),
      ...(firstLink ? { firstKey: keyFile, firstLink: linkAddress(front.origin(), firstLink.token) } : {}),
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function prepareDatabase(db: Db, log: Logger) {
  await requireSupportedVersion(db);
  const applied = await migrate(db);
  if (applied.length > 0) log.info({ applied }, "the database is up to date");
}

/** Lines never hold a key, a secret or a prompt: errors of the database are cut to what cannot quote a row. */
function createLogger({ logLevel }: Config, tally: Tally): Logger {
  const options: LoggerOptions = {
    level: logLevel,
    base: { pid: process.pid },
    timestamp: pino.stdTimeFunctions.isoTime,
    serializers: { error: describeError },
    hooks: {
      logMethod(line, method, level) {
        tally.logged(level);
        method.apply(this, line);
      },
    },
  };
  return pino(
    options,
    logOutput().on("drop", () => tally.dropped++),
  );
}

function describeError(error: unknown) {
  if (!(error instanceof Error)) return { type: typeof error };
  const { name, message, stack = "" } = error;
  const { code, table_name, constraint_name } = error as {
    code?: string;
    table_name?: string;
    constraint_name?: string;
  };
  const frames = stack
    .split("\n")
    .filter((line) => /^\s+at /.test(line))
    .join("\n");
  return name === "PostgresError"
    ? { name, code, table_name, constraint_name, frames }
    : { name, message, code, frames };
}

function once<T>(work: () => Promise<T>): () => Promise<T> {
  let result: Promise<T> | undefined;
  return () => (result ??= work());
}
