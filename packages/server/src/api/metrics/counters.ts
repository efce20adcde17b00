import { Gauge, type Registry } from "prom-client";
import type { CounterName } from "../../engine/operations/counters.ts";
import { transactionsOf } from "../../store/connection/transaction.ts";
import type { Services } from "../pipeline/call.ts";
import { openStreams, stalledStreams } from "../streams/sse.ts";
import { metricReaders } from "./metric-readers.ts";

const help: Record<CounterName, string> = {
  runs_created: "Runs created through this server.",
  followups_sent: "Follow-ups sent through this server.",
  runs_claimed: "Runs assigned to workers by this server.",
  runs_recovered: "Runs assigned again after their worker was lost; included in runs_claimed.",
  leases_refused: "Lease renewals refused because the worker had lost the lease.",
  events_reported: "Events that workers reported to this server.",
  builds_claimed: "Builds assigned to workers by this server.",
};

/** Registers metrics for this server only. Dashboards should sum them across servers. */
export function registerCounters(register: Registry, services: Services) {
  const { db, counters, admission, maintenance, runWatcher, databaseHealth, claimer } = services;
  const registers = [register];
  new Gauge({
    name: "outrider_background_task_last_success_timestamp_seconds",
    help: "Time of the last successful run of each background task.",
    labelNames: ["task"],
    registers,
    collect() {
      for (const [task, at] of Object.entries(counters.succeededAt)) this.set({ task }, at);
    },
  });
  const { gauge, counter, labeledCounter } = metricReaders(register);
  labeledCounter(
    "outrider_background_task_failures_total",
    "Failed runs of each background task. The next run retries.",
    "task",
    () => counters.failures,
  );
  labeledCounter(
    "outrider_reaped_total",
    "Runs ended or requeued because a limit was exceeded, by limit.",
    "reason",
    () => counters.reaped,
  );
  labeledCounter(
    "outrider_log_lines_total",
    "Warnings and errors in this server's log.",
    "level",
    () => counters.lines,
  );
  for (const [name, text] of Object.entries(help) as [CounterName, string][])
    counter(`outrider_${name}_total`, text, () => counters.counts[name]);
  counter(
    "outrider_log_lines_dropped_total",
    "Log lines dropped because a megabyte of lines was waiting to be written.",
    () => counters.dropped,
  );
  counter(
    "outrider_streams_stalled_total",
    "Event streams closed because the client stopped reading.",
    stalledStreams,
  );
  const { stats } = services.blobs;
  labeledCounter(
    "outrider_blob_storage_operations_total",
    "Operations of the storage of files, by operation, including failed ones.",
    "operation",
    () => stats.operations,
  );
  labeledCounter(
    "outrider_blob_storage_seconds_total",
    "Time that operations of the storage of files took, by operation.",
    "operation",
    () => stats.seconds,
  );
  labeledCounter(
    "outrider_blob_storage_failures_total",
    "Operations of the storage of files that failed, by problem.",
    "problem",
    () => stats.failures,
  );
  gauge(
    "outrider_blob_upload_bytes",
    "Memory that uploads to the storage of files have reserved.",
    () => services.blobs.uploads.stats.used,
  );
  gauge(
    "outrider_admission_open",
    "1 if new runs are accepted; 0 while disk space is low or maintenance mode forbids them.",
    () => Number(admission.isOpen()),
  );
  gauge(
    "outrider_queue_open",
    "1 if runs are assigned to workers; 0 while maintenance mode pauses the queue.",
    () => Number(maintenance.dispatchEnabled()),
  );
  gauge("outrider_read_only", "1 while maintenance mode is read-only.", () =>
    Number(!maintenance.acceptsWrites()),
  );
  gauge("outrider_streams_open", "Open event streams, including those of workers.", openStreams);
  gauge("outrider_streams_waiting", "Open event streams waiting for new events.", () =>
    runWatcher.watching(),
  );
  gauge("outrider_claims_waiting", "Worker claims waiting for a run or a build.", () => claimer.count);
  gauge(
    "outrider_database_transactions_open",
    "Open transactions in this server's connection pool.",
    () => transactionsOf(db).open,
  );
  gauge(
    "outrider_database_transactions_waiting",
    "Transactions waiting for a connection from this server's pool.",
    () => transactionsOf(db).waiting,
  );
  gauge("outrider_database_callers", "Reads and authentications waiting for the database.", () =>
    databaseHealth.pendingCalls(),
  );
  gauge(
    "outrider_database_ping_seconds",
    "Round-trip time of the last database ping; rises while a ping is pending.",
    () => databaseHealth.pingSeconds(),
  );
  new Gauge({
    name: "outrider_disk_free_bytes",
    help: "Free space on the disks that the server writes to.",
    labelNames: ["folder"],
    registers,
    collect() {
      for (const [folder, bytes] of Object.entries(admission.free())) this.set({ folder }, bytes);
    },
  });
}
