import { type Flags, readConfig } from "@outrider/server/config";
import { startServer } from "@outrider/server/main";
import { Command } from "commander";

export const serveCommand = new Command("serve")
  .description("Start the service in the foreground.")
  .option("--host <address>", "where to listen (OUTRIDER_HOST, 127.0.0.1)")
  .option("--port <number>", "0 takes a free one (OUTRIDER_PORT, 4000)")
  .option("--data-dir <path>", "where keys and the own database lie (OUTRIDER_DATA_DIR, .outrider)")
  .option("--public-url <url>", "how clients reach it (OUTRIDER_PUBLIC_URL)")
  .option("--database-url <url>", "a PostgreSQL of yours, 15 or later (DATABASE_URL)")
  .option("--log-level <level>", "trace, debug, info, warn, error, silent (OUTRIDER_LOG_LEVEL, info)")
  .action(async (flags: Flags) => {
    const config = readConfig(flags);
    const server = await startServer(config);
    const say = (line: string) => process.stderr.write(`${line}\n`);
    say(`Outrider listens on ${server.origin}`);
    say(`  database   ${server.database}`);
    say(`  key        ${config.dataDir}/key${server.firstKey ? " (the first one, made just now)" : ""}`);
    say(`  reference  ${server.origin}/docs`);
    say("  workers    none yet: runs are accepted and wait in the queue");
    for (const signal of ["SIGINT", "SIGTERM"] as const) {
      process.once(signal, async () => {
        say("Stopping: requests are finished, then the database is stopped.");
        await server.stop();
        process.exit(0);
      });
    }
  });
