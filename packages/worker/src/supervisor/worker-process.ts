import { mkdirSync } from "node:fs";
import type { Assignment } from "@outrider/contract/worker";
import { openTelemetry } from "@outrider/telemetry/open-telemetry";
import type { TelemetrySettings } from "@outrider/telemetry/settings";
import type { LogLine, Telemetry } from "@outrider/telemetry/telemetry";
import { startEventLoopWatchdog } from "../event-loop-watchdog/start-watchdog.ts";
import type { Log } from "../log.ts";
import { processTag } from "../sandboxes/local/process/process-tag.ts";
import { startIsolatedRun, startWorker } from "../worker.ts";
import type { SupervisorLink } from "../worker-runtime.ts";
import { type FromProcess, STALL_REPORT_FD, type StartMessage, type ToProcess } from "./messages.ts";

interface ProcessLog {
  log: Log;
  /** Passes every further line on, in addition to writing it. */
  exportTo(receive: (line: LogLine) => void): void;
}

/**
 * Runs a worker in this process, which was started by a supervisor (supervisor.ts). The process exits when it is
 * drained, and when its supervisor exits.
 */
export async function runWorkerProcess({
  openLog,
}: {
  openLog(settings: { name: string }): ProcessLog;
}): Promise<void> {
  // A terminal and a service manager signal all processes of a worker. The supervisor decides what happens.
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => {});
  process.once("disconnect", () => process.exit(1));
  const link = new ProcessLink();
  const { settings, stallMs, assignment, telemetry: telemetrySettings } = await link.started;
  const opened = openLog(settings);
  const { log } = opened;
  const telemetry = telemetrySettings && (await startTelemetry(telemetrySettings, settings, opened));
  if (stallMs > 0) startEventLoopWatchdog({ timeoutMs: stallMs, reportFd: STALL_REPORT_FD, log });
  const options = { ...settings, log, telemetry, supervisor: link };
  try {
    // The Unix accounts of sandboxes must be able to traverse the folder.
    mkdirSync(settings.folder, { recursive: true, mode: 0o711 });
    const worker = assignment ? await startIsolatedRun(options, assignment) : await startWorker(options);
    const worker_id = worker.workerId;
    if (assignment) log.info({ worker_id, run_id: assignment.run_id }, "executing a run in its own process");
    else log.info({ worker_id, server: settings.url }, "ready for runs");
    link.send({ type: "ready" });
    await Promise.race([worker.drained, link.draining]);
    await worker.drain();
    if (!assignment) log.info({ worker_id }, "worker drained");
    await telemetry?.close();
    process.exit(0);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    link.send({ type: "failed", message }, () => process.exit(1));
  }
}

async function startTelemetry(
  telemetrySettings: TelemetrySettings,
  { version, workerId }: StartMessage["settings"],
  { log, exportTo }: ProcessLog,
): Promise<Telemetry> {
  const telemetry = await openTelemetry(telemetrySettings, {
    serviceName: "outrider-worker",
    version,
    // All processes of a worker have its ID.
    instanceId: `${workerId}-${process.pid}`,
    onFailed: (reason) => log.warn({ reason }, "failed to export telemetry"),
  });
  if (telemetry.log) exportTo(telemetry.log);
  return telemetry;
}

/** The worker process's side of the channel to its supervisor. */
class ProcessLink implements SupervisorLink {
  readonly started: Promise<StartMessage>;
  readonly draining: Promise<void>;
  stalls = 0;
  readonly #isolated = new Map<string, PromiseWithResolvers<void>>();
  #ended: string[] = [];
  #isAccepted = false;

  constructor() {
    const started = Promise.withResolvers<StartMessage>();
    const draining = Promise.withResolvers<void>();
    this.started = started.promise;
    this.draining = draining.promise;
    process.on("message", (message: ToProcess) => {
      if (message.type === "start") {
        this.stalls = message.stalls;
        for (const id of message.isolated) this.#isolated.set(id, Promise.withResolvers());
        started.resolve(message);
      } else if (message.type === "drain") draining.resolve();
      else if (message.type === "stalls") this.stalls = message.count;
      else {
        this.#isolated.get(message.execution_id)?.resolve();
        this.#isolated.delete(message.execution_id);
      }
    });
    this.send({ type: "hello", processTag });
  }

  get isolatedRuns(): Promise<void>[] {
    return [...this.#isolated.values()].map(({ promise }) => promise);
  }

  onClaim(request_id: string): void {
    this.send({ type: "claiming", request_id });
  }

  /** The supervisor needs only the first one. */
  onAccepted(): void {
    if (!this.#isAccepted) this.send({ type: "accepted" });
    this.#isAccepted = true;
  }

  onStarting(assignments: Assignment[]): void {
    const executions = assignments.map(({ run_id, execution_id }) => ({ run_id, execution_id }));
    this.send({ type: "started", executions });
  }

  /** Executions that end together are one message. If the process is killed before it is sent, returning them changes nothing. */
  onEnded({ execution_id }: Assignment): void {
    this.#ended.push(execution_id);
    if (this.#ended.length > 1) return;
    setImmediate(() => {
      this.send({ type: "ended", execution_ids: this.#ended });
      this.#ended = [];
    });
  }

  isolate(assignment: Assignment): Promise<void> {
    const ended = Promise.withResolvers<void>();
    this.#isolated.set(assignment.execution_id, ended);
    this.send({ type: "isolate", assignment });
    return ended.promise;
  }

  /** Without a channel, the supervisor is gone and this process is about to exit. */
  send(message: FromProcess, onSent = () => {}): void {
    if (process.connected) process.send?.(message, onSent);
  }
}
