import { resolve } from "node:path";
import { z } from "zod";
import { Addresses, type Exposure, readTls, requireSafe } from "./config/exposure.ts";
import { type ModelSettings, readModels } from "./config/models.ts";
import { type QuotaSettings, readQuotas } from "./config/quotas.ts";
import { type RetentionSettings, readRetention } from "./config/retention.ts";

export interface Config extends Exposure {
  port: number;
  dataDir: string;
  /** In all, and from one address. */
  maxConnections: number;
  maxConnectionsPerAddress: number;
  /** Of all callers on this server, and of one key or person. */
  maxStreams: number;
  maxStreamsPerKey: number;
  databaseUrl?: string;
  /** 32 bytes; made in the data folder where none is given. */
  masterKey?: Buffer;
  logLevel: string;
  /** Where a repository is that is named by owner and name alone. */
  gitHost: string;
  /** Worker processes on this machine. */
  workers: number;
  /** Read when it is called: who only asks for the data folder need not mend a file of models first. */
  models(): ModelSettings;
  /** Bounds on runs that differ from the engine's own. */
  rules: Partial<Record<keyof typeof rules, number>>;
  /** How long and how much is kept of runs that have ended. */
  retention: RetentionSettings;
  /** What callers may ask for and spend, on all servers together. */
  quotas: QuotaSettings;
  /** With less room than this on a disk, no new work is taken. */
  minFreeBytes: number;
}

/** Flags of the command line, by the same names. They win over the environment. */
export type Flags = Partial<
  Record<
    | "host"
    | "port"
    | "dataDir"
    | "publicUrl"
    | "tls"
    | "tlsCert"
    | "tlsKey"
    | "trustProxy"
    | "databaseUrl"
    | "logLevel"
    | "gitHost"
    | "workers"
    | "models"
    | "defaultModel",
    string
  >
>;

const file = z
  .string()
  .transform((path) => resolve(path))
  .optional();

const connections = (usual: number) =>
  z.coerce
    .number("must be a whole number above 0")
    .int("must be a whole number above 0")
    .min(1, "must be a whole number above 0")
    .default(usual);

const schema = z.object({
  host: z.string().default("127.0.0.1"),
  port: z.coerce
    .number("must be a port")
    .int("must be a port")
    .min(0, "must be a port")
    .max(65_535, "must be a port, at most 65535")
    .default(4_000),
  dataDir: z
    .string()
    .default(".outrider")
    .transform((path) => resolve(path)),
  publicUrl: z
    .url({ protocol: /^https?$/, error: "must be an http or https address" })
    .transform((url) => url.replace(/\/+$/, ""))
    .optional(),
  tls: z.string().optional(),
  tlsCert: file,
  tlsKey: file,
  trustProxy: Addresses,
  maxConnections: connections(10_000),
  maxConnectionsPerAddress: connections(1_000),
  maxStreams: connections(5_000),
  maxStreamsPerKey: connections(500),
  databaseUrl: z
    .string()
    .regex(/^postgres(ql)?:\/\//, { error: "must begin with postgres://" })
    .optional(),
  masterKey: z
    .base64("must be 32 bytes in base64; `openssl rand -base64 32` makes one")
    .transform((text) => Buffer.from(text, "base64"))
    .refine((key) => key.length === 32, "must be 32 bytes in base64; `openssl rand -base64 32` makes one")
    .optional(),
  gitHost: z
    .url({ protocol: /^(https|file)$/, error: "must be an https address, or a folder as file:///folder" })
    .transform((url) => url.replace(/\/+$/, ""))
    .default("https://github.com"),
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

/** Bounds on runs, in the units that their variables name. */
const rules = {
  leaseMs: ["OUTRIDER_LEASE_SECONDS", positive(1_000)],
  graceMs: ["OUTRIDER_LEASE_GRACE_SECONDS", positive(1_000)],
  maxAttempts: ["OUTRIDER_MAX_ATTEMPTS", positive(1)],
  queueMs: ["OUTRIDER_QUEUE_TIMEOUT_HOURS", positive(3_600_000)],
  blockedMs: ["OUTRIDER_BLOCKED_TIMEOUT_DAYS", positive(86_400_000)],
  turnMs: ["OUTRIDER_TURN_TIMEOUT_MINUTES", positive(60_000)],
  maxSteps: ["OUTRIDER_MAX_STEPS", positive(1)],
  maxConcurrentRuns: ["OUTRIDER_MAX_CONCURRENT_RUNS", positive(1)],
} as const;

/** Which variable says what. Each but the master key is also a flag: secrets stay out of argument lists. */
const variables = {
  host: "OUTRIDER_HOST",
  port: "OUTRIDER_PORT",
  dataDir: "OUTRIDER_DATA_DIR",
  publicUrl: "OUTRIDER_PUBLIC_URL",
  tls: "OUTRIDER_TLS",
  tlsCert: "OUTRIDER_TLS_CERT",
  tlsKey: "OUTRIDER_TLS_KEY",
  trustProxy: "OUTRIDER_TRUST_PROXY",
  maxConnections: "OUTRIDER_MAX_CONNECTIONS",
  maxConnectionsPerAddress: "OUTRIDER_MAX_CONNECTIONS_PER_ADDRESS",
  maxStreams: "OUTRIDER_MAX_STREAMS",
  maxStreamsPerKey: "OUTRIDER_MAX_STREAMS_PER_KEY",
  databaseUrl: "DATABASE_URL",
  masterKey: "OUTRIDER_MASTER_KEY",
  logLevel: "OUTRIDER_LOG_LEVEL",
  gitHost: "OUTRIDER_GIT_HOST",
  workers: "OUTRIDER_WORKERS",
} as const;

/** The only reader of the process's environment. */
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
  const bounds = Object.entries(rules).map(([name, [variable, type]]) => [name, read(variable, type)]);
  const given = Object.fromEntries(bounds.filter(([, value]) => value !== undefined));
  const { tls: mode, tlsCert: cert, tlsKey: key, ...rest } = Object.fromEntries(settings);
  const tls = readTls(mode, { cert, key });
  const config = {
    ...rest,
    ...(tls ? { tls } : {}),
    rules: given,
    retention: readRetention(read),
    quotas: readQuotas(read),
    minFreeBytes: read("OUTRIDER_MIN_FREE_MB", minFree) * 1024 ** 2,
  } as Omit<Config, "models">;
  requireSafe(config);
  const variable = (name: string) =>
    (name === "OUTRIDER_DEFAULT_MODEL" && flags.defaultModel) || environment[name] || undefined;
  const file = flags.models ?? (environment.OUTRIDER_MODELS || undefined);
  return { ...config, models: () => readModels({ file, dataDir: config.dataDir, variable }) };
}
