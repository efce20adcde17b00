import type { Worker } from "@outrider/sdk";
import { Command } from "commander";
import { clientCommand, withClient } from "../client-command.ts";
import { ago, bytes } from "../terminal/figures.ts";

const list = clientCommand("list", "List workers, those that live first.").action(
  withClient(async ({ client, out }) => {
    const document = await client.workers.list();
    const stateOf = ({ is_alive, draining }: Worker) =>
      is_alive ? (draining ? "draining" : "alive") : "gone";
    const room = (free: number | undefined) =>
      free === undefined ? "" : out.isTerminal ? bytes(free) : String(free);
    out.list<Worker>({
      ...{ document, rows: document.workers, id: ({ worker_id }) => worker_id, none: "No workers." },
      columns: [
        { title: "WORKER", text: ({ worker_id }) => worker_id },
        { title: "NAME", text: ({ name }) => name, gives: true },
        { title: "STATE", text: stateOf },
        { title: "BUSY", text: ({ busy, slots }) => `${busy}/${slots}` },
        { title: "VERSION", text: ({ version }) => version },
        { title: "SEEN", text: ({ last_seen_at }) => (out.isTerminal ? ago(last_seen_at) : last_seen_at) },
        { title: "DISK FREE", text: ({ disk_free_bytes }) => room(disk_free_bytes) },
      ],
    });
  }),
);

const drain = clientCommand("drain", "Let a worker finish or hand back what it has, and take nothing new.")
  .argument("<worker>", "its id")
  .action(
    withClient(async ({ client, out }, id) => {
      const document = await client.workers.drain(id as string);
      out.done({ document, id: document.worker_id, says: `${document.name} takes nothing new.` });
    }),
  );

export const workersCommand = new Command("workers")
  .description("The workers of a server.")
  .addCommand(list)
  .addCommand(drain);
