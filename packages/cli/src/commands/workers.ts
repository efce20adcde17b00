import type { Worker } from "@outrider/sdk";
import { Command } from "commander";
import { clientCommand, withClient } from "../client-command.ts";
import { ago, bytes } from "../terminal/format.ts";

const list = clientCommand("list", "List workers, connected ones first.")
  .alias("ls")
  .action(
    withClient(async ({ client, out }) => {
      const document = await client.workers.list();
      const stateOf = ({ is_alive, draining }: Worker) =>
        is_alive ? (draining ? "draining" : "alive") : "lost";
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
          { title: "BUSY", text: ({ busy, slots }) => `${busy}/${slots}` },
          { title: "VERSION", text: ({ version }) => version },
          {
            title: "LAST SEEN",
            text: ({ last_seen_at }) => (out.isTerminal ? ago(last_seen_at) : last_seen_at),
          },
          { title: "SANDBOX", text: ({ sandbox }) => sandbox ?? "" },
          { title: "DISK FREE", text: ({ disk_free_bytes }) => freeSpace(disk_free_bytes) },
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
  .addCommand(drain);
