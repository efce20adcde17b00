/**
 * The supervisor of a worker. It executes nothing itself, so nothing that a run does can block it.
 *
 * The work happens in child processes (worker-process.ts), each with an event-loop watchdog:
 * - The main process claims runs and executes them. If it exits by itself, the supervisor exits with the same code.
 * - An isolated process executes a single run that the server has marked, because the run may have made a main process
 *   unresponsive. It works in a folder of its own and occupies one slot of the main process.
 *
 * When a watchdog has killed its process, the supervisor
 * 1. waits until all processes of its sandboxes have exited, so that two attempts never run at the same time;
 * 2. reports the interrupted executions to the server, and whether each is a suspect (return-executions.ts);
 * 3. starts a new main process. An isolated process is not replaced.
 *
 * If the server cannot be reached, or a sandbox process remains, the leases expire as if the machine had failed.
 * All processes exit with the supervisor, because their channel to it closes.
 */
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import type { Assignment, WorkerInfo } from "@outrider/contract/worker";
import type { TelemetrySettings } from "@outrider/telemetry/settings";
import type { Stall } from "../event-loop-watchdog/stall.ts";
import type { Log } from "../log.ts";
import { removeFolder } from "../remove-folder.ts";
import type { ServerClient } from "../server-client/server-client.ts";
import type { FromProcess, RunExecution, StartMessage, WorkerSettings } from "./messages.ts";
import type { Suspicion } from "./return-executions.ts";
import { type ProcessEnd, SupervisedProcess, type WorkerProgram } from "./supervised-process.ts";

const SANDBOXES_EXIT_MS = 5_000;
const RETURN_MS = 20_000;

interface SupervisorOptions {
  program: WorkerProgram;
  settings: Omit<WorkerSettings, "workerId">;
  /** How long an event loop may make no progress. With 0, there are no watchdogs. */
  stallMs: number;
  telemetry?: TelemetrySettings | undefined;
  /** Called when the first process is ready. */
  onReady(): void;
  /** Called when the server has accepted a claim, by which time sandboxes work, once for each main process. */
  onAccepted?(): void;
  log: Log;
}

interface IsolatedRun {
  process: SupervisedProcess;
  folder: string;
  /** Settles when the process has exited and nothing is left of it. */
  done: Promise<void>;
}

export class Supervisor {
  readonly #options: SupervisorOptions;
  readonly #worker: WorkerInfo;
  #main: SupervisedProcess | undefined;
  readonly #isolated = new Map<string, IsolatedRun>();
  readonly #returning = new Set<Promise<void>>();
  #isReady = false;
  #isDraining = false;
  #stalls = 0;

  constructor(options: SupervisorOptions) {
    this.#options = options;
    const { name, version, slots } = options.settings;
    this.#worker = { worker_id: randomUUID(), name, version, slots };
  }

  /** Runs the worker until it is drained or fails. Returns the exit code. */
  async run(): Promise<number> {
    await this.#removeFolder(this.#isolatedRoot);
    try {
      for (;;) {
        const end = await this.#runMain();
        if (end.failure !== undefined) throw new Error(end.failure);
        if (end.stall && !this.#isDraining) continue;
        if (end.code !== 0 && !end.stall) {
          this.#options.log.error(
            { code: end.code, signal: end.signal },
            "worker process exited unexpectedly",
          );
          return end.code ?? 1;
        }
        this.drain();
        await Promise.all([...this.#isolated.values()].map(({ done }) => done));
        await Promise.all(this.#returning);
        return 0;
      }
    } finally {
      for (const { process } of this.#isolated.values()) process.disconnect();
    }
  }

  /** Lets all processes finish or return their runs, and then exit. */
  drain(): void {
    this.#isDraining = true;
    this.#main?.send({ type: "drain" });
    for (const { process } of this.#isolated.values()) process.send({ type: "drain" });
  }

  async #runMain(): Promise<ProcessEnd> {
    const { program, settings } = this.#options;
    const main = new SupervisedProcess({
      program,
      folder: settings.folder,
      start: () => this.#startMessage(settings.folder),
      onMessage: (message) => this.#handleMessage(message),
    });
    this.#main = main;
    const end = await main.ended;
    this.#main = undefined;
    if (end.stall) await this.#handleMainStall(main, end.stall);
    return end;
  }

  #startMessage(folder: string): StartMessage {
    const { settings, stallMs, telemetry } = this.#options;
    return {
      type: "start",
      settings: {
        ...{ ...settings, folder, workerId: this.#worker.worker_id },
        ...(folder === settings.folder ? {} : { mainFolder: settings.folder }),
      },
      stallMs,
      isolated: [...this.#isolated.keys()],
      stalls: this.#stalls,
      ...(telemetry ? { telemetry } : {}),
    };
  }

  #handleMessage(message: FromProcess): void {
    if (message.type === "isolate") this.#startIsolated(message.assignment);
    if (message.type === "accepted") this.#options.onAccepted?.();
    if (message.type !== "ready") return;
    if (!this.#isReady) this.#options.onReady();
    this.#isReady = true;
    // A drain that was requested between two processes has reached neither.
    if (this.#isDraining) this.drain();
  }

  async #handleMainStall(main: SupervisedProcess, stall: Stall): Promise<void> {
    const { work } = stall;
    const suspicionOf = ({ execution_id }: RunExecution): Suspicion => {
      if (!work) return "possible";
      return "execution_id" in work && work.execution_id === execution_id ? "certain" : "none";
    };
    this.#reportStall(main, stall);
    if (!(await this.#waitForSandboxes(main))) return;
    const { executions, requestId } = main;
    const returning: Promise<void> = this.#returnExecutions({ executions, requestId, suspicionOf }).finally(
      () => this.#returning.delete(returning),
    );
    this.#returning.add(returning);
  }

  #startIsolated(assignment: Assignment): void {
    const { execution_id } = assignment;
    const folder = this.#chooseIsolatedFolder();
    const isolated = new SupervisedProcess({
      program: this.#options.program,
      folder,
      start: () => ({ ...this.#startMessage(folder), assignment }),
      onMessage: ({ type }) => {
        if (type === "ready" && this.#isDraining) isolated.send({ type: "drain" });
      },
    });
    const done = this.#finishIsolated(isolated, assignment).finally(async () => {
      await this.#removeFolder(folder);
      this.#isolated.delete(execution_id);
      this.#main?.send({ type: "isolated_ended", execution_id });
    });
    this.#isolated.set(execution_id, { process: isolated, folder, done });
  }

  async #finishIsolated(isolated: SupervisedProcess, { run_id, execution_id }: Assignment): Promise<void> {
    const { stall, ...end } = await isolated.ended;
    if (stall) {
      this.#reportStall(isolated, { ...stall, work: { run_id, execution_id } });
      if (!(await this.#waitForSandboxes(isolated))) return;
      await this.#returnExecutions({
        executions: [{ run_id, execution_id }],
        requestId: undefined,
        suspicionOf: () => "certain",
      });
    } else if (end.code !== 0) {
      this.#options.log.error({ ...end, run_id }, "process of an isolated run failed");
    }
  }

  get #isolatedRoot(): string {
    return join(this.#options.settings.folder, "isolated");
  }

  /** Folders have few different names, because control groups are named after them and can outlive a crash. */
  #chooseIsolatedFolder(): string {
    const used = new Set([...this.#isolated.values()].map(({ folder }) => folder));
    for (let number = 1; ; number++) {
      const folder = join(this.#isolatedRoot, String(number));
      if (!used.has(folder)) return folder;
    }
  }

  async #removeFolder(folder: string): Promise<void> {
    await removeFolder(folder).catch((error) =>
      this.#options.log.warn({ error, folder }, "failed to remove the folder of an isolated run"),
    );
  }

  #reportStall({ pid, executions }: SupervisedProcess, { stalledMs, work }: Stall): void {
    this.#stalls++;
    this.#main?.send({ type: "stalls", count: this.#stalls });
    const suspect = work ?? { run_ids: executions.map(({ run_id }) => run_id) };
    const fields = { pid, stalled_ms: stalledMs, executions: executions.length, ...suspect };
    this.#options.log.error(fields, "worker process was unresponsive and has been killed");
  }

  async #waitForSandboxes(process: SupervisedProcess): Promise<boolean> {
    const areGone = await process.waitForSandboxes(SANDBOXES_EXIT_MS);
    if (!areGone)
      this.#options.log.error(
        { pid: process.pid },
        "sandbox processes of a killed worker process remain; its runs are retried when their leases expire",
      );
    return areGone;
  }

  async #returnExecutions({
    executions,
    requestId,
    suspicionOf,
  }: {
    executions: RunExecution[];
    /** The last claim of the killed process, whose response may not have reached it. */
    requestId: string | undefined;
    suspicionOf(execution: RunExecution): Suspicion;
  }): Promise<void> {
    // A supervisor that never needs these modules uses much less memory.
    const { connectToServer } = await import("../server-client/server-client.ts");
    const { listClaimed, returnExecutions } = await import("./return-executions.ts");
    const { url, key, ca } = this.#options.settings;
    const server: ServerClient = connectToServer({ url, key, ...(ca ? { ca } : {}) });
    const signal = AbortSignal.timeout(RETURN_MS);
    try {
      await returnExecutions(server, { executions, suspicionOf, signal });
      if (requestId === undefined) return;
      const claimed = await listClaimed(server, { requestId, worker: this.#worker, signal });
      const others = claimed.filter(({ execution_id }) => !this.#isolated.has(execution_id));
      await returnExecutions(server, { executions: others, suspicionOf, signal });
    } catch (error) {
      this.#options.log.warn({ error }, "failed to return runs; they are retried when their leases expire");
    } finally {
      server.stop();
    }
  }
}
