import type { PoolDemand, Worker } from "@outrider/sdk";
import { Command } from "commander";
import { clientCommand, withClient } from "../client-command.ts";
import { labelsText } from "../input/labels.ts";
import { ago, bytes, duration } from "../terminal/format.ts";

const list = clientCommand("list", "List workers, connected ones first.")
  .alias("ls")
  .action(
    withClient(async ({ client, out }) => {
      const document = await client.workers.list();
      const freeSpace = (free: number | undefined) =>
        free === undefined ? "" : out.isTerminal ? bytes(free) : String(free);
      out.list<Worker>({
        ...{
          document,
          rows: document.workers,
          id: ({ worker_id }) => worker_id,
          emptyMessage: "No workers.",
        },
        columns: [
          { title: "WORKER", text: ({ worker_id }) => worker_id },
          { title: "NAME", text: ({ name }) => name, canShrink: true },
          { title: "STATE", text: stateOf },
          { title: "POOL", text: ({ pool }) => pool },
          { title: "BUSY", text: ({ busy, slots }) => `${busy}/${slots}` },
          { title: "VERSION", text: ({ version }) => version },
          {
            title: "LAST SEEN",
            text: ({ last_seen_at }) => (out.isTerminal ? ago(last_seen_at) : last_seen_at),
          },
          { title: "SANDBOX", text: sandboxText },
          { title: "DISK FREE", text: ({ disk_free_bytes }) => freeSpace(disk_free_bytes) },
          { title: "LABELS", text: ({ labels }) => labelsText(labels), canShrink: true },
        ],
      });
    }),
  );

function stateOf({ is_alive, draining, accepts_runs }: Worker): string {
  if (!is_alive) return "lost";
  if (draining) return "draining";
  return accepts_runs === false ? "alive, accepts no runs" : "alive";
}

function sandboxText({ sandbox = "", sandbox_engine: engine }: Worker): string {
  return engine ? `${sandbox} (${engine.engine} ${engine.engine_version})` : sandbox;
}

interface DemandFlags {
  pool?: string;
}

const demand = clientCommand("demand", "Show the runs, workers and free slots of each pool, for autoscaling.")
  .option("--pool <name>", "only this pool")
  .action(
    withClient<DemandFlags>(async ({ client, out, flags }) => {
      const document = await client.workers.demand(flags.pool ? { pool: flags.pool } : {});
      out.list<PoolDemand>({
        ...{ document, rows: document.pools, id: ({ pool }) => pool, emptyMessage: "No pools." },
        columns: [
          { title: "POOL", text: ({ pool }) => pool, canShrink: true },
          { title: "QUEUED", text: ({ queued }) => String(queued) },
          { title: "RUNNING", text: ({ running }) => String(running) },
          { title: "WORKERS", text: ({ workers }) => String(workers) },
          { title: "SLOTS", text: ({ slots }) => String(slots) },
          { title: "FREE", text: ({ free }) => String(free) },
          {
            title: "OLDEST WAIT",
            text: ({ oldest_wait_seconds: seconds }) =>
              out.isTerminal ? duration(seconds * 1_000) : String(seconds),
          },
        ],
      });
    }),
  );

const drain = clientCommand(
  "drain",
  "Drain a worker. It accepts no new work and finishes its runs or returns them to the queue.",
)
  .argument("<worker>", "worker ID")
  .action(
    withClient(async ({ client, out }, id) => {
      const document = await client.workers.drain(id as string);
      out.done({ document, id: document.worker_id, message: `Draining ${document.name}.` });
    }),
  );

export const workersCommand = new Command("workers")
  .description("List and drain workers.")
  .addCommand(list)
  .addCommand(demand)
  .addCommand(drain);
