import { Counter, Gauge, type Registry } from "prom-client";
import type { Tallied } from "../../engine/tally.ts";
import type { Services } from "../call.ts";
import { openStreams } from "../sse.ts";

const help: Record<Tallied, string> = {
  runs_created: "Runs that this server has taken.",
  followups_sent: "Follow-ups that this server has taken.",
  runs_claimed: "Runs that this server has given to workers.",
  runs_recovered: "Of those, the ones that a lost worker had before.",
  leases_refused: "Leases that workers wanted to keep and had lost.",
  events_reported: "Events that workers have sent to this server.",
  builds_claimed: "Builds that this server has given to workers.",
};

/** What this server alone knows: sum it over all of them. */
export function registerTally(register: Registry, { tally, intake, brake, watch }: Services) {
  const registers = [register];
  for (const [name, words] of Object.entries(help) as [Tallied, string][]) {
    new Counter({
      name: `outrider_${name}_total`,
      help: words,
      registers,
      collect() {
        this.reset();
        this.inc(tally.counts[name]);
      },
    });
  }
  new Counter({
    name: "outrider_reaped_total",
    help: "Runs past a bound: lost leases, turns, waits for a worker, waits for an answer.",
    labelNames: ["reason"],
    registers,
    collect() {
      this.reset();
      for (const [reason, count] of Object.entries(tally.reaped)) this.inc({ reason }, count);
    },
  });
  new Gauge({
    name: "outrider_chore_last_success_timestamp_seconds",
    help: "When the reaper and the janitor last came to their end.",
    labelNames: ["chore"],
    registers,
    collect() {
      for (const [chore, at] of Object.entries(tally.succeededAt)) this.set({ chore }, at);
    },
  });
  const gauge = (name: string, words: string, look: () => number) =>
    new Gauge({
      name,
      help: words,
      registers,
      collect() {
        this.set(look());
      },
    });
  gauge("outrider_intake_open", "1 while new runs are taken, 0 while a disk or the brake forbids it.", () =>
    Number(intake.isOpen()),
  );
  gauge("outrider_queue_open", "0 while the brake keeps runs from workers.", () => Number(brake.givesWork()));
  gauge("outrider_read_only", "1 while the brake allows reading alone.", () => Number(!brake.takesWrites()));
  gauge("outrider_streams_open", "Event streams that are open, those of workers included.", openStreams);
  gauge("outrider_streams_waiting", "Open event streams that wait for news.", () => watch.watching());
  new Gauge({
    name: "outrider_disk_free_bytes",
    help: "Room on the disks that the service writes to.",
    labelNames: ["folder"],
    registers,
    collect() {
      for (const [folder, bytes] of Object.entries(intake.free())) this.set({ folder }, bytes);
    },
  });
}
