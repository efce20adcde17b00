import { Gauge, type Registry } from "prom-client";
import type { Tallied } from "../../engine/tally.ts";
import { transactionsOf } from "../../store/transaction.ts";
import type { Services } from "../call.ts";
import { openStreams, stalledStreams } from "../sse.ts";
import { lookingInto } from "./looking.ts";

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
export function registerTally(register: Registry, services: Services) {
  const { db, tally, intake, brake, watch, pulse, claimants } = services;
  const registers = [register];
  new Gauge({
    name: "outrider_chore_last_success_timestamp_seconds",
    help: "When the reaper, the janitor and the look at the brake last came to their end.",
    labelNames: ["chore"],
    registers,
    collect() {
      for (const [chore, at] of Object.entries(tally.succeededAt)) this.set({ chore }, at);
    },
  });
  const { gauge, counter, counters } = lookingInto(register);
  counters(
    "outrider_chore_failures_total",
    "How often what this server does by itself has failed; the next round makes it good.",
    "chore",
    () => tally.failures,
  );
  counters(
    "outrider_reaped_total",
    "Runs past a bound: lost leases, turns, waits for a worker, waits for an answer.",
    "reason",
    () => tally.reaped,
  );
  counters(
    "outrider_log_lines_total",
    "Warnings and errors in this server's log.",
    "level",
    () => tally.lines,
  );
  for (const [name, words] of Object.entries(help) as [Tallied, string][])
    counter(`outrider_${name}_total`, words, () => tally.counts[name]);
  counter(
    "outrider_log_lines_dropped_total",
    "Lines of this server's log that were lost, because a megabyte of them could not be written.",
    () => tally.dropped,
  );
  counter(
    "outrider_streams_stalled_total",
    "Event streams that were closed because nobody read them.",
    stalledStreams,
  );
  gauge("outrider_intake_open", "1 while new runs are taken, 0 while a disk or the brake forbids it.", () =>
    Number(intake.isOpen()),
  );
  gauge("outrider_queue_open", "0 while the brake keeps runs from workers.", () => Number(brake.givesWork()));
  gauge("outrider_read_only", "1 while the brake allows reading alone.", () => Number(!brake.takesWrites()));
  gauge("outrider_streams_open", "Event streams that are open, those of workers included.", openStreams);
  gauge("outrider_streams_waiting", "Open event streams that wait for news.", () => watch.watching());
  gauge("outrider_claims_waiting", "Workers' claims that wait for something to do.", () => claimants.count);
  gauge(
    "outrider_database_transactions_open",
    "Transactions that have a connection of this server's pool.",
    () => transactionsOf(db).open,
  );
  gauge(
    "outrider_database_transactions_waiting",
    "Transactions that wait for a connection of this server's pool.",
    () => transactionsOf(db).waiting,
  );
  gauge("outrider_database_callers", "Reads and sign-ins that the database has not answered yet.", () =>
    pulse.callers(),
  );
  gauge("outrider_database_pulse_seconds", "How long a smallest question waits for its answer.", () =>
    pulse.seconds(),
  );
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
