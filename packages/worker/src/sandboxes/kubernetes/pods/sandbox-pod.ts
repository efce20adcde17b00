import { randomBytes } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { initPath } from "../../files/programs.ts";
import { InitConnection, type InitOptions } from "../../init/init-connection.ts";
import { buildPortableSeccompFilter } from "../../seccomp/build-filter.ts";
import type { ProcessKind } from "../../systems/command-system.ts";
import type { Cluster } from "../cluster/connect.ts";
import { ClusterError, isClusterError } from "../cluster/errors.ts";
import { describePullSecret } from "../images/pull-secret.ts";
import { type PodEvents, readPodEvents } from "./pod-events.ts";
import { describePod, needsPullSecret, type PodPlan } from "./pod-spec.ts";
import { type PodState, readPodState, readRestarts } from "./pod-state.ts";

/** How long each step of a start may take. */
export interface StartLimits {
  /** How long the cluster may have no node for the pod. Adding a node takes minutes. */
  scheduleMs: number;
  /** From the creation of the pod until a container runs, with the time to pull its image. Also for later connections. */
  startMs: number;
  /** How long the node may fail to pull the image or to start a container, for a reason that may be temporary. */
  retryMs: number;
  /** After this time without a start, the worker reads the events of the pod. */
  eventsMs: number;
  /** How long init may take to answer. */
  answerMs: number;
  /** How long the pod may take that shows whether the cluster has user namespaces. Its image is on the node. */
  userNamespaceMs: number;
  /** How long a node that had no secret yet may take to pull the image with it. The kubelet repeats a pull after 10 s and 20 s. */
  secretMs: number;
}

export const defaultStartLimits: StartLimits = {
  scheduleMs: 5 * 60_000,
  startMs: 20 * 60_000,
  // The kubelet repeats a pull after 10 s, 20 s and 40 s.
  retryMs: 2 * 60_000,
  eventsMs: 20_000,
  answerMs: 20_000,
  userNamespaceMs: 15_000,
  secretMs: 60_000,
};

/** A pod can only choose among the filters of its node. init adds ours, which is the same in every kind of sandbox. */
const seccompFilter = buildPortableSeccompFilter();
/** How long the node may fail to pull the image of a build, which the pod does not need. */
const replaceMs = 30_000;
const firstWaitMs = 50;
/** Most pods start within seconds, and a connection works up to a second before the status of the pod says so. */
const soonMs = 5_000;
const longestWaitSoonMs = 100;
const longestWaitMs = 500;
/** The status only says why a pod does not start, and each call takes time from the node on a small machine. */
const stateIntervalMs = 400;
const eventsIntervalMs = 10_000;
/** The cluster knows a moment later than the worker that a container has started again. */
const restartReportMs = 10_000;

export interface ConnectOptions extends Omit<InitOptions, "deadlineMs" | "seccompFilter"> {
  /** The time until the sandbox's deadline. */
  remainingMs(): number;
  /** Whether nobody needs the connection any longer. */
  isAborted(): boolean;
}

export interface PodConnection {
  connection: InitConnection;
  /** The number of earlier connections since the container started. */
  configurations: number;
}

/** The pod of a sandbox, from its creation to its removal. */
export class SandboxPod {
  readonly #cluster: Cluster;
  readonly #limits: StartLimits;
  readonly #onBuildImageFailed: (error: ClusterError) => void;
  #plan: PodPlan;
  #wasConnected = false;
  /** What init accepts connections by. Commands never see them. */
  readonly #tokens: Record<ProcessKind, string> = { commands: newToken(), scripts: newToken() };
  /** How often containers have started again. */
  readonly #restarts: Record<ProcessKind, number> = { commands: 0, scripts: 0 };
  #creation: Promise<void> | undefined;
  #createdAt = 0;
  /** When the node could first know the secret for the image, if there is one. */
  #secretAt = Number.NEGATIVE_INFINITY;
  /** Since when the node fails to start the pod. */
  #failingSince: number | undefined;
  #events: { readAt: number; found: PodEvents | undefined } | undefined;

  constructor(
    cluster: Cluster,
    plan: Omit<PodPlan, "initArguments"> & { deadlineMs: number },
    limits: StartLimits,
    /** Called if the node cannot pull the image of the build. The pod is replaced by one without it. */
    onBuildImageFailed: (error: ClusterError) => void = () => {},
  ) {
    this.#cluster = cluster;
    this.#limits = limits;
    this.#onBuildImageFailed = onBuildImageFailed;
    const ms = String(Math.ceil(plan.deadlineMs + limits.startMs));
    this.#plan = { ...plan, initArguments: (kind) => ["pod", kind, this.#tokens[kind], ms] };
  }

  get name(): string {
    return this.#plan.metadata.name ?? "";
  }

  /** Whether the pod has the files of the build. Known after the first connection. */
  get hasBuildImage(): boolean {
    return this.#plan.buildImage !== undefined;
  }

  /** Creates the pod, unless that was done or has failed before. `connect` does it too. */
  create(): Promise<void> {
    this.#creation ??= this.#create();
    return this.#creation;
  }

  async #create(): Promise<void> {
    const { pullCredentials } = this.#plan;
    const created = await this.#cluster.createPod(describePod(this.#plan));
    this.#createdAt = performance.now();
    if (!pullCredentials || !needsPullSecret(this.#plan)) return;
    try {
      // The node needs the secret only after it has installed the programs.
      await this.#cluster.createSecret(describePullSecret(created, pullCredentials));
      this.#secretAt = performance.now();
    } catch (error) {
      await this.#cluster.deletePod(this.name).catch(() => {}); // the provider repeats it
      throw error;
    }
  }

  /**
   * Connects to init in a container, once it runs. Returns undefined if nobody needs the connection any longer. Rejects with
   * the reason if the container cannot run, and if it cannot be reached until the deadline or for a long time.
   */
  async connect(kind: ProcessKind, options: ConnectOptions): Promise<PodConnection | undefined> {
    let giveUpAt = performance.now() + this.#limits.startMs;
    let stateAt = Number.NEGATIVE_INFINITY;
    for (let wait = firstWaitMs; ; wait = Math.min(wait * 1.5, this.#longestWaitMs())) {
      if (options.isAborted()) return undefined;
      const creation = this.create();
      await creation;
      if (options.isAborted()) return undefined;
      const found = await this.#tryConnect(kind, options);
      if (!(found instanceof Error)) {
        this.#wasConnected = true;
        return found;
      }
      if (performance.now() - stateAt < stateIntervalMs) {
        await delay(wait);
        continue;
      }
      stateAt = performance.now();
      try {
        await this.#assertStarting(kind, options, found);
      } catch (error) {
        // The connection of the other container may have replaced the pod already.
        if (this.#creation === creation) {
          if (!this.#canReplace(error)) throw error;
          this.#creation = this.#replace(error);
          this.#creation.catch(() => {}); // each caller of `connect` gets it
        }
        giveUpAt = performance.now() + this.#limits.startMs;
      }
      if (performance.now() > giveUpAt) throw found;
      await delay(wait);
    }
  }

  #longestWaitMs(): number {
    return performance.now() - this.#createdAt < soonMs ? longestWaitSoonMs : longestWaitMs;
  }

  /** Whether the node cannot pull the image of the build, and nobody has used the pod. */
  #canReplace(error: unknown): error is ClusterError {
    const { buildImage } = this.#plan;
    if (!isClusterError(error, "image_pull") || this.#wasConnected || buildImage === undefined) return false;
    return error.message.includes(buildImage);
  }

  async #replace(error: ClusterError): Promise<void> {
    this.#onBuildImageFailed(error);
    await this.#cluster.deletePod(this.name);
    const metadata = { ...this.#plan.metadata, name: `${this.name}-blobs` };
    this.#plan = { ...this.#plan, buildImage: undefined, metadata };
    this.#failingSince = undefined;
    this.#events = undefined;
    await this.#create();
  }

  async #tryConnect(kind: ProcessKind, options: ConnectOptions) {
    try {
      const stream = await this.#cluster.exec(this.name, kind, [initPath, "connect", kind]);
      stream.write(this.#tokens[kind]);
      const connection = new InitConnection(stream, {
        ...{ ...options, seccompFilter },
        deadlineMs: options.remainingMs(),
      });
      const timer = setTimeout(() => connection.close(), this.#limits.answerMs);
      try {
        return { connection, configurations: await connection.ready };
      } catch {
        return new ClusterError(
          "unreachable",
          `The connection to the pod of the sandbox failed: ${stream.problem ?? "it was closed"}. Start the run again.`,
        );
      } finally {
        clearTimeout(timer);
      }
    } catch (error) {
      if (isClusterError(error, "forbidden")) throw error;
      return error as Error;
    }
  }

  /** Returns if another attempt makes sense. */
  async #assertStarting(kind: ProcessKind, options: ConnectOptions, failure: Error): Promise<void> {
    const { scheduleMs, startMs, retryMs } = this.#limits;
    const age = performance.now() - this.#createdAt;
    let problem: ClusterError | undefined;
    try {
      const state = await this.#readState(kind);
      if (state.phase === "ended") throw state.error;
      if (state.phase === "waiting") problem = state.problem ?? (await this.#readEvents(age))?.problem;
      if (problem?.code === "unschedulable" && age > scheduleMs) throw problem;
      const pullMs = this.#canReplace(problem) ? Math.min(replaceMs, retryMs) : retryMs;
      if (problem && this.#hasFailedFor(pullMs, problem)) throw problem;
      if (age > startMs && options.remainingMs() <= 0) throw problem ?? failure;
      if (age > startMs && state.phase === "waiting") throw problem ?? this.#timeoutError(startMs);
    } catch (error) {
      if (!isClusterError(error, "unreachable")) throw error;
    }
    // Commands have ended by then. If the API server is away for longer, another attempt continues the run.
    if (options.remainingMs() <= 0) throw problem ?? failure;
  }

  #timeoutError(ms: number): ClusterError {
    const warning = this.#events?.found?.warning;
    const hint = `Look at \`kubectl get events --field-selector involvedObject.name=${this.name}\`.`;
    return new ClusterError(
      "timeout",
      `The pod of the sandbox did not start within ${Math.round(ms / 1000)} s. ${warning === undefined ? hint : `The last warning of the cluster is: ${warning}.`}`,
    );
  }

  /** Most pods start before events are worth a request. */
  async #readEvents(age: number): Promise<PodEvents | undefined> {
    const now = performance.now();
    if (age < this.#limits.eventsMs) return undefined;
    if (this.#events && now - this.#events.readAt < eventsIntervalMs) return this.#events.found;
    this.#events = { readAt: now, found: await readPodEvents(this.#cluster, this.name) };
    return this.#events.found;
  }

  /** Adding a node has a limit of its own. */
  #hasFailedFor(ms: number, { code }: ClusterError): boolean {
    if (code === "unschedulable") return false;
    this.#failingSince ??= performance.now();
    return performance.now() - this.#failingSince > ms;
  }

  /** Returns why no container can run again, as far as the cluster knows. */
  async findEnd(kind: ProcessKind): Promise<ClusterError | undefined> {
    const creation = this.#creation;
    if (!creation) return undefined;
    await creation.catch(() => {}); // there is no pod then
    const state = await this.#readState(kind);
    if (this.#creation !== creation) return undefined;
    if (state.phase === "ended" && this.#canReplace(state.error)) return undefined;
    return state.phase === "ended" ? state.error : undefined;
  }

  /** If creating the secret took long, the node may have tried to pull the image without it. */
  async #readState(kind: ProcessKind): Promise<PodState> {
    const state = readPodState(await this.#cluster.readPod(this.name), kind);
    const isSecretNew = performance.now() - this.#secretAt < this.#limits.secretMs;
    return state.phase === "ended" && state.error.code === "image_pull" && isSecretNew
      ? { phase: "waiting", problem: state.error }
      : state;
  }

  /** Called when a container has started again. Returns whether it had run out of memory. */
  async hasRestartedOutOfMemory(kind: ProcessKind): Promise<boolean> {
    const giveUpAt = performance.now() + restartReportMs;
    for (;;) {
      const pod = await this.#cluster.readPod(this.name);
      if (!pod) return false;
      const { count, isOutOfMemory } = readRestarts(pod, kind);
      if (count > this.#restarts[kind] || performance.now() > giveUpAt) {
        this.#restarts[kind] = count;
        return isOutOfMemory;
      }
      await delay(longestWaitMs);
    }
  }

  async remove(): Promise<void> {
    if (!this.#creation) return;
    await this.#creation.catch(() => {}); // connect has reported it
    await this.#cluster.deletePod(this.name);
  }
}

const newToken = () => randomBytes(32).toString("hex");
