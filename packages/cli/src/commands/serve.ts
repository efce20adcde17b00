import { existsSync } from "node:fs";
import { type Flags, readConfig } from "@outrider/server/config";
import { resolveLogFormat } from "@outrider/server/logging/log-output";
import { startServer } from "@outrider/server/main";
import { readExtraCertificates, trustCertificates } from "@outrider/worker/egress/extra-ca";
import { parseSandboxChoice } from "@outrider/worker/sandboxes/choose-provider";
import { Command } from "commander";
import { startLocalWorkers } from "../local-workers.ts";
import {
  addSandboxOptions,
  readDockerSettings,
  type SandboxFlags,
  sandboxVariables,
} from "../sandbox-options.ts";

const command = new Command("serve")
  .description("Start the server. It runs in the foreground.")
  .option("--host <address>", "address to listen on (OUTRIDER_HOST, default 127.0.0.1)")
  .option("--port <number>", "port to listen on; 0 picks a free port (OUTRIDER_PORT, default 4000)")
  .option(
    "--data-dir <path>",
    "directory for keys, files and the embedded database (OUTRIDER_DATA_DIR, default .outrider)",
  )
  .option("--public-url <url>", "URL at which clients reach the server (OUTRIDER_PUBLIC_URL)")
  .option(
    "--tls-cert <file>",
    "PEM file with the certificate chain (OUTRIDER_TLS_CERT); reloaded when it changes",
  )
  .option("--tls-key <file>", "PEM file with the private key (OUTRIDER_TLS_KEY)")
  .option("--tls <mode>", "self-signed: generate a certificate, for testing (OUTRIDER_TLS)")
  .option(
    "--trust-proxy <addresses>",
    "addresses of trusted TLS proxies, such as 10.0.0.0/8,192.168.1.5 (OUTRIDER_TRUST_PROXY)",
  )
  .option("--database-url <url>", "external PostgreSQL 15 or later (DATABASE_URL)")
  .option(
    "--models <file>",
    "file with model providers and aliases (OUTRIDER_MODELS, default models.json in the data directory)",
  )
  .option(
    "--harnesses <file>",
    "file with settings of harnesses (OUTRIDER_HARNESSES, default harnesses.json in the data directory)",
  )
  .option("--default-model <id>", "model for runs that do not set one (OUTRIDER_DEFAULT_MODEL)")
  .option("--workers <number>", "number of local workers (OUTRIDER_WORKERS, default 1)");

export const serveCommand = addSandboxOptions(command)
  .option(
    "--log-level <level>",
    "trace, debug, info, warn, error or silent (OUTRIDER_LOG_LEVEL, default info)",
  )
  .option(
    "--log-format <format>",
    "human, json or auto: human on a terminal, otherwise json (OUTRIDER_LOG_FORMAT, default auto)",
  )
  .option(
    "--git-host <url>",
    "host for repositories given as owner/name (OUTRIDER_GIT_HOST, default https://github.com)",
  )
  .option(
    "--extra-ca <file>",
    "PEM file with CA certificates that the server and its workers trust in addition (OUTRIDER_EXTRA_CA)",
  )
  .action(async (flags: Flags & SandboxFlags) => {
    const config = readConfig(flags);
    parseSandboxChoice(flags.sandbox ?? (process.env.OUTRIDER_SANDBOX || "auto"), "--sandbox");
    readDockerSettings(flags, process.env);
    if (config.extraCa) trustCertificates(readExtraCertificates(config.extraCa));
    if (resolveLogFormat(config.logFormat) === "human") print("Starting Outrider…");
    const starting = startServer(config);
    let isStopping = false;
    let workers: ReturnType<typeof startLocalWorkers> | undefined;
    // Install the handlers first, so that an interrupted start also stops the embedded database. With TLS, SIGHUP
    // reloads the certificate instead of stopping the server.
    for (const signal of ["SIGINT", "SIGTERM", ...(config.tls ? [] : ["SIGHUP" as const])] as const) {
      process.once(signal, async () => {
        isStopping = true;
        const database = config.databaseUrl ? "" : ", then stopping the database";
        print(`Stopping: finishing requests${database}.`);
        await workers?.stop();
        await starting.then(({ stop }) => stop());
        process.exit(0);
      });
    }
    const server = await starting;
    if (isStopping) return;
    const keyFile = `${config.dataDir}/key`;
    const elsewhere = "with the first server; create another with `outrider admin create-key`";
    print(`Outrider is listening on ${server.origin}`);
    print(`  database   ${server.database}`);
    print(
      `  key        ${existsSync(keyFile) ? keyFile : elsewhere}${server.firstKey ? " (first key, just created)" : ""}`,
    );
    print(
      `  sign in    ${server.firstLink ?? `${server.origin}/login; create a one-time link with \`outrider admin sign-in-link\``}`,
    );
    if (server.firstLink) print("             one-time link for the first admin, valid for 24 hours");
    const { certificate } = server;
    if (certificate) {
      const { fingerprint, validUntil } = certificate.current();
      print(`  tls        ${certificate.file}, valid until ${validUntil.toISOString().slice(0, 10)}`);
      print(`  SHA-256    ${fingerprint}`);
      process.on("SIGHUP", () => void certificate.reload());
    }
    print(`  models     ${server.models}`);
    print(`  reference  ${server.origin}/docs`);
    const { workers: count, dataDir, logFormat, extraCa } = config;
    print(`  workers    ${count === 0 ? "none on this machine" : `${count} on this machine`}`);
    const { localOrigin: origin } = server;
    if (count > 0)
      workers = startLocalWorkers({
        ...{ count, origin, key: await server.localWorkerKey(), dataDir, logFormat },
        environment: { ...sandboxVariables(flags), ...(extraCa ? { OUTRIDER_EXTRA_CA: extraCa } : {}) },
      });
    server.showLog();
  });

/** Prints a line for the person who starts the server. */
function print(line: string): void {
  try {
    process.stderr.write(`${line}\n`);
  } catch {
    // A file on a full disk. The server continues without the message.
  }
}
