import { resolve } from "node:path";
import { readTelemetrySettings, type TelemetrySettings } from "@outrider/telemetry/settings";
import { z } from "zod";
import { type BlobSettings, readBlobs } from "./config/blobs.ts";
import { Addresses, type Exposure, Origins, readTls, requireSafe } from "./config/exposure.ts";
import { type HarnessSettings, readHarnesses } from "./config/harnesses.ts";
import { type ModelSettings, readModels } from "./config/models.ts";
import { type QuotaSettings, readQuotas } from "./config/quotas.ts";
import { type RetentionSettings, readRetention } from "./config/retention.ts";
import { type LogFormat, logFormats } from "./logging/log-output.ts";

export interface Config extends Exposure {
  port: number;
  dataDir: string;
  blobs: BlobSettings;
  /** Origins whose pages may call the API with a key, such as `https://app.example.com`. */
  corsOrigins: string[];
  /** The total limit, and the limit for one address. */
  maxConnections: number;
  maxConnectionsPerAddress: number;
  /** Limits on this server: for all callers together, and for each key or user. */
  maxStreams: number;
  maxStreamsPerKey: number;
  databaseUrl?: string;
  /** PostgreSQL's own address. Present if `databaseUrl` leads to a connection pooler in transaction mode. */
  databaseDirectUrl?: string;
  /** The maximum number of connections that this server opens to PostgreSQL. */
  databaseConnections: number;
  /** A key of 32 bytes. If absent, the server creates one in the data directory. */
  masterKey?: Buffer;
  logLevel: string;
  logFormat: LogFormat;
  /** The Git host for repositories that are specified as `owner/name`. */
  gitHost: string;
  /** A PEM file with certificates that the server and its own workers trust in addition to the public authorities. */
  extraCa?: string;
  /** How the server reaches forges. Workers read the same settings for git and sandboxes. */
  outboundNetwork: { allowedAddresses?: string; upstreamProxy?: string; noProxy?: string };
  /** The number of worker processes that the server starts. */
  workers: number;
  /** Reads the model settings on demand, so that commands that need no models work with a broken models file. */
  models(): ModelSettings;
  /** Reads the settings of harnesses on demand, for the same reason. */
  harnesses(): HarnessSettings;
  /** Limits on runs that override the engine's defaults. */
  policy: Partial<Record<keyof typeof policyVariables, number>>;
  /** How long the data of finished runs is retained. */
  retention: RetentionSettings;
  /** Rate limits and budgets, enforced across all servers. */
  quotas: QuotaSettings;
  /** With less free disk space than this, the server accepts no new work. */
  minFreeBytes: number;
  /** Where traces, metrics and logs are sent. Absent if they are not. */
  telemetry?: TelemetrySettings;
}

/** Command-line flags. They take precedence over environment variables. */
export type Flags = Partial<
  Record<
    | "host"
    | "port"
    | "dataDir"
    | "blobs"
    | "publicUrl"
    | "tls"
    | "tlsCert"
    | "tlsKey"
    | "trustProxy"
    | "databaseUrl"
    | "logLevel"
    | "logFormat"
    | "gitHost"
    | "extraCa"
    | "workers"
    | "models"
    | "harnesses"
    | "defaultModel",
    string
  >
>;

const file = z
  .string()
  .transform((path) => resolve(path))
  .optional();

const positiveInteger = (defaultValue: number) =>
  z.coerce
    .number("must be a whole number above 0")
    .int("must be a whole number above 0")
    .min(1, "must be a whole number above 0")
    .default(defaultValue);

const PostgresUrl = z
  .string()
  .regex(/^postgres(ql)?:\/\//, { error: "must start with postgres://" })
  .optional();

/** The default for the number of connections that a server opens to PostgreSQL. */
const DATABASE_CONNECTIONS = 12;
/** Four connections have a purpose of their own, and requests share the others. */
const MIN_DATABASE_CONNECTIONS = 6;
const connectionsRule = `must be a whole number from ${MIN_DATABASE_CONNECTIONS} to 1000`;

const schema = z.object({
  host: z.string().default("127.0.0.1"),
  port: z.coerce
    .number("must be a port number")
    .int("must be a port number")
    .min(0, "must be a port number")
    .max(65_535, "must be a port number, at most 65535")
    .default(4_000),
  dataDir: z
    .string()
    .default(".outrider")
    .transform((path) => resolve(path)),
  publicUrl: z
    .url({ protocol: /^https?$/, error: "must be an http or https URL" })
    .transform((url) => url.replace(/\/+$/, ""))
    .optional(),
  tls: z.string().optional(),
  tlsCert: file,
  tlsKey: file,
  trustProxy: Addresses,
  corsOrigins: Origins,
  maxConnections: positiveInteger(10_000),
  maxConnectionsPerAddress: positiveInteger(1_000),
  maxStreams: positiveInteger(5_000),
  maxStreamsPerKey: positiveInteger(500),
  databaseUrl: PostgresUrl,
  databaseDirectUrl: PostgresUrl,
  databaseConnections: z.coerce
    .number(connectionsRule)
    .int(connectionsRule)
    .min(MIN_DATABASE_CONNECTIONS, connectionsRule)
    .max(1_000, connectionsRule)
    .default(DATABASE_CONNECTIONS),
  masterKey: z
    .base64("must be 32 bytes in base64; create one with `openssl rand -base64 32`")
    .transform((text) => Buffer.from(text, "base64"))
    .refine(
      (key) => key.length === 32,
      "must be 32 bytes in base64; create one with `openssl rand -base64 32`",
    )
    .optional(),
  gitHost: z
    .url({
      protocol: /^(https|file)$/,
      error: "must be an https URL, or a directory such as file:///srv/git",
    })
    .transform((url) => url.replace(/\/+$/, ""))
    .default("https://github.com"),
  extraCa: file,
  workers: z.coerce
    .number("must be a whole number")
    .int("must be a whole number")
    .min(0, "must be a whole number")
    .max(64, "must be at most 64")
    .default(1),
  logLevel: z
    .enum(["trace", "debug", "info", "warn", "error", "fatal", "silent"], {
      error: "must be trace, debug, info, warn, error, fatal or silent",
    })
    .default("info"),
  logFormat: z.enum(logFormats, { error: "must be auto, human or json" }).default("auto"),
});

const positive = (unit: number) =>
  z.coerce
    .number("must be a number above 0")
    .positive("must be a number above 0")
    .max(1_000_000, "is too large")
    .transform((value) => Math.round(value * unit))
    .optional();

const minFree = z.coerce
  .number("must be a number of megabytes, 0 or more")
  .min(0, "must be a number of megabytes, 0 or more")
  .default(256);

/** Limits on runs. The variable names contain the units; the functions convert them. */
const policyVariables = {
  leaseMs: ["OUTRIDER_LEASE_SECONDS", positive(1_000)],
  graceMs: ["OUTRIDER_LEASE_GRACE_SECONDS", positive(1_000)],
  maxAttempts: ["OUTRIDER_MAX_ATTEMPTS", positive(1)],
  queueMs: ["OUTRIDER_QUEUE_TIMEOUT_HOURS", positive(3_600_000)],
  blockedMs: ["OUTRIDER_BLOCKED_TIMEOUT_DAYS", positive(86_400_000)],
  turnMs: ["OUTRIDER_TURN_TIMEOUT_MINUTES", positive(60_000)],
  maxSteps: ["OUTRIDER_MAX_STEPS", positive(1)],
  maxConcurrentRuns: ["OUTRIDER_MAX_CONCURRENT_RUNS", positive(1)],
  maxBuildsPerUser: ["OUTRIDER_MAX_BUILDS_PER_USER", positive(1)],
  maxShellsPerUser: ["OUTRIDER_MAX_SHELLS_PER_USER", positive(1)],
} as const;

/** The environment variable for each setting. The master key has no flag, because other users can see arguments. */
const variables = {
  host: "OUTRIDER_HOST",
  port: "OUTRIDER_PORT",
  dataDir: "OUTRIDER_DATA_DIR",
  publicUrl: "OUTRIDER_PUBLIC_URL",
  tls: "OUTRIDER_TLS",
  tlsCert: "OUTRIDER_TLS_CERT",
  tlsKey: "OUTRIDER_TLS_KEY",
  trustProxy: "OUTRIDER_TRUST_PROXY",
  corsOrigins: "OUTRIDER_CORS_ORIGINS",
  maxConnections: "OUTRIDER_MAX_CONNECTIONS",
  maxConnectionsPerAddress: "OUTRIDER_MAX_CONNECTIONS_PER_ADDRESS",
  maxStreams: "OUTRIDER_MAX_STREAMS",
  maxStreamsPerKey: "OUTRIDER_MAX_STREAMS_PER_KEY",
  databaseUrl: "DATABASE_URL",
  databaseDirectUrl: "DATABASE_DIRECT_URL",
  databaseConnections: "OUTRIDER_DATABASE_CONNECTIONS",
  masterKey: "OUTRIDER_MASTER_KEY",
  logLevel: "OUTRIDER_LOG_LEVEL",
  logFormat: "OUTRIDER_LOG_FORMAT",
  gitHost: "OUTRIDER_GIT_HOST",
  extraCa: "OUTRIDER_EXTRA_CA",
  workers: "OUTRIDER_WORKERS",
} as const;

/** Reads all settings. No other server module reads the process environment. */
export function readConfig(flags: Flags = {}, environment: NodeJS.ProcessEnv = process.env): Config {
  const read = <T>(variable: string, type: z.ZodType<T>, flag?: string): T => {
    const result = type.safeParse(flag ?? (environment[variable] || undefined));
    if (result.success) return result.data;
    throw new Error(`${variable} ${result.error.issues[0]?.message}.`);
  };
  const settings = Object.entries(variables).map(([name, variable]) => [
    name,
    read(variable, schema.shape[name as keyof typeof variables] as z.ZodType, flags[name as keyof Flags]),
  ]);
  const policyEntries = Object.entries(policyVariables).map(([name, [variable, type]]) => [
    name,
    read(variable, type),
  ]);
  const policy = Object.fromEntries(policyEntries.filter(([, value]) => value !== undefined));
  const { tls: mode, tlsCert: cert, tlsKey: key, ...rest } = Object.fromEntries(settings);
  const tls = readTls(mode, { cert, key });
  const config = {
    ...rest,
    ...(tls ? { tls } : {}),
    policy,
    blobs: readBlobs(read, rest.dataDir, flags.blobs),
    retention: readRetention(read),
    quotas: readQuotas(read),
    outboundNetwork: readOutboundNetwork(environment),
    minFreeBytes: read("OUTRIDER_MIN_FREE_MB", minFree) * 1024 ** 2,
  } as Omit<Config, "models" | "harnesses">;
  requireSafe(config);
  if (config.databaseDirectUrl && !config.databaseUrl)
    throw new Error(
      "DATABASE_DIRECT_URL is set without DATABASE_URL. Set DATABASE_URL to the pooler's address, or to this one if there is no pooler.",
    );
  const telemetry = readTelemetrySettings((name) => environment[name]);
  const variable = (name: string) =>
    (name === "OUTRIDER_DEFAULT_MODEL" && flags.defaultModel) || environment[name] || undefined;
  const file = flags.models ?? (environment.OUTRIDER_MODELS || undefined);
  const harnessesFile = flags.harnesses ?? (environment.OUTRIDER_HARNESSES || undefined);
  const { dataDir } = config;
  return {
    ...config,
    ...(telemetry ? { telemetry } : {}),
    models: () => readModels({ file, dataDir, variable }),
    harnesses: () => readHarnesses({ file: harnessesFile, dataDir }),
  };
}

function readOutboundNetwork(environment: NodeJS.ProcessEnv): Config["outboundNetwork"] {
  const first = (...names: string[]) => names.map((name) => environment[name]).find(Boolean);
  const allowedAddresses = first("OUTRIDER_ALLOW_ADDRESSES");
  const upstreamProxy = first("OUTRIDER_UPSTREAM_PROXY", "HTTPS_PROXY", "https_proxy");
  const noProxy = first("OUTRIDER_NO_PROXY", "NO_PROXY", "no_proxy");
  return {
    ...(allowedAddresses ? { allowedAddresses } : {}),
    ...(upstreamProxy ? { upstreamProxy } : {}),
    ...(noProxy ? { noProxy } : {}),
  };
}
