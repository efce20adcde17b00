import { isIP } from "node:net";
import { resolve } from "node:path";
import { z } from "zod";

export interface Config {
  host: string;
  port: number;
  dataDir: string;
  publicUrl?: string;
  databaseUrl?: string;
  /** 32 bytes; made in the data folder where none is given. */
  masterKey?: Buffer;
  logLevel: string;
}

/** Flags of the command line, by the same names. They win over the environment. */
export type Flags = Partial<
  Record<"host" | "port" | "dataDir" | "publicUrl" | "databaseUrl" | "logLevel", string>
>;

const schema = z.object({
  host: z.string().default("127.0.0.1").refine(isLoopback, {
    error:
      "must be a loopback address: keys would travel in the clear anywhere else. Keep 127.0.0.1 and put a proxy that speaks TLS on this machine in front",
  }),
  port: z.coerce.number("must be a port").int("must be a port").min(0).max(65_535).default(4_000),
  dataDir: z
    .string()
    .default(".outrider")
    .transform((path) => resolve(path)),
  publicUrl: z
    .url({ protocol: /^https?$/, error: "must be an http or https address" })
    .transform((url) => url.replace(/\/+$/, ""))
    .optional(),
  databaseUrl: z
    .string()
    .regex(/^postgres(ql)?:\/\//, { error: "must begin with postgres://" })
    .optional(),
  masterKey: z
    .base64("must be 32 bytes in base64; `openssl rand -base64 32` makes one")
    .transform((text) => Buffer.from(text, "base64"))
    .refine((key) => key.length === 32, "must be 32 bytes in base64; `openssl rand -base64 32` makes one")
    .optional(),
  logLevel: z.enum(["trace", "debug", "info", "warn", "error", "fatal", "silent"]).default("info"),
});

/** Which variable says what. Each but the master key is also a flag: secrets stay out of argument lists. */
const variables = {
  host: "OUTRIDER_HOST",
  port: "OUTRIDER_PORT",
  dataDir: "OUTRIDER_DATA_DIR",
  publicUrl: "OUTRIDER_PUBLIC_URL",
  databaseUrl: "DATABASE_URL",
  masterKey: "OUTRIDER_MASTER_KEY",
  logLevel: "OUTRIDER_LOG_LEVEL",
} as const;

/** The only reader of the process's environment. */
export function readConfig(flags: Flags = {}, environment: NodeJS.ProcessEnv = process.env): Config {
  const given = Object.entries(variables).map(([name, variable]) => [
    name,
    flags[name as keyof Flags] ?? (environment[variable] || undefined),
  ]);
  const result = schema.safeParse(Object.fromEntries(given));
  if (result.success) return result.data as Config;
  const [issue] = result.error.issues;
  const name = issue?.path[0] as keyof typeof variables;
  throw new Error(`${variables[name]} ${issue?.message}.`);
}

function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || (isIP(host) === 4 && host.startsWith("127."));
}
