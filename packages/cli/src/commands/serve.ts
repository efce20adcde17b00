import { existsSync } from "node:fs";
import { type Flags, readConfig } from "@outrider/server/config";
import { startServer } from "@outrider/server/main";
import { Command } from "commander";
import { startLocalWorkers } from "../local-workers.ts";

export const serveCommand = new Command("serve")
  .description("Start the service in the foreground.")
  .option("--host <address>", "where to listen (OUTRIDER_HOST, 127.0.0.1)")
  .option("--port <number>", "0 takes a free one (OUTRIDER_PORT, 4000)")
  .option("--data-dir <path>", "where keys and the own database lie (OUTRIDER_DATA_DIR, .outrider)")
  .option("--public-url <url>", "how clients reach it (OUTRIDER_PUBLIC_URL)")
  .option(
    "--tls-cert <file>",
    "certificate with its chain, PEM (OUTRIDER_TLS_CERT); read again when it changes",
  )
  .option("--tls-key <file>", "its private key, PEM (OUTRIDER_TLS_KEY)")
  .option("--tls <mode>", "self-signed: a certificate of its own, for a quick start (OUTRIDER_TLS)")
  .option(
    "--trust-proxy <addresses>",
    "proxies that speak TLS in front of it, as in 10.0.0.0/8,192.168.1.5 (OUTRIDER_TRUST_PROXY)",
  )
  .option("--database-url <url>", "a PostgreSQL of yours, 15 or later (DATABASE_URL)")
  .option("--models <file>", "providers, keys, aliases (OUTRIDER_MODELS, models.json in the data folder)")
  .option("--default-model <id>", "for runs that name none (OUTRIDER_DEFAULT_MODEL)")
  .option("--workers <number>", "local worker processes (OUTRIDER_WORKERS, 1)")
  .option("--log-level <level>", "trace, debug, info, warn, error, silent (OUTRIDER_LOG_LEVEL, info)")
  .option(
    "--git-host <url>",
    "where repositories named by owner and name are (OUTRIDER_GIT_HOST, https://github.com)",
  )
  .action(async (flags: Flags) => {
    const config = readConfig(flags);
    // These words may go to a file on a disk that is full; the service goes on without them.
    process.stderr.on("error", () => {});
    const say = (line: string) => process.stderr.write(`${line}\n`);
    const starting = startServer(config);
    let isStopping = false;
    let workers: ReturnType<typeof startLocalWorkers> | undefined;
    // From the first moment on: a start that is broken off must not leave its database running.
    // Where there is a certificate, SIGHUP is the word to read it again; else it is what it is for every program.
    for (const signal of ["SIGINT", "SIGTERM", ...(config.tls ? [] : ["SIGHUP" as const])] as const) {
      process.once(signal, async () => {
        isStopping = true;
        const last = config.databaseUrl ? "" : ", then the database is stopped";
        say(`Stopping: requests are finished${last}.`);
        await workers?.stop();
        await starting.then(({ stop }) => stop());
        process.exit(0);
      });
    }
    const server = await starting;
    if (isStopping) return;
    const keyFile = `${config.dataDir}/key`;
    const elsewhere = "with the server that came first; `outrider person key` makes another";
    say(`Outrider listens on ${server.origin}`);
    say(`  database   ${server.database}`);
    say(
      `  key        ${existsSync(keyFile) ? keyFile : elsewhere}${server.firstKey ? " (the first one, made just now)" : ""}`,
    );
    say(
      `  sign in    ${server.firstLink ?? `${server.origin}/login; \`outrider person link\` makes a one-time link`}`,
    );
    if (server.firstLink) say("             opens once, within 24 hours, as the first admin");
    const { certificate } = server;
    if (certificate) {
      const { fingerprint, until } = certificate.current();
      say(`  tls        ${certificate.file}, until ${until.toISOString().slice(0, 10)}`);
      say(`  SHA-256    ${fingerprint}`);
      process.on("SIGHUP", () => void certificate.reload());
    }
    say(`  models     ${server.models}`);
    say(`  reference  ${server.origin}/docs`);
    const { workers: count, dataDir } = config;
    say(`  workers    ${count === 0 ? "none on this machine" : `${count} on this machine`}`);
    const { localOrigin: origin } = server;
    if (count > 0)
      workers = startLocalWorkers({ count, origin, key: await server.localWorkerKey(), dataDir });
  });
