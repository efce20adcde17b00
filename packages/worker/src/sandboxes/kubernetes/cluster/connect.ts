/**
 * The connection to the API server of a cluster, through the official client.
 *
 * - Every call has a time limit, so that an API server that hangs cannot hang a run.
 * - Every failure is a ClusterError.
 */
import { existsSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, join } from "node:path";
import type {
  ConfigurationOptions,
  CoreV1Api,
  CoreV1Event,
  KubeConfig,
  ObservableMiddleware,
  V1Pod,
  V1ResourceAttributes,
  V1Secret,
  VersionInfo,
} from "@kubernetes/client-node";
import { ClusterError, type ErrorContext, explainClusterError, isClusterError } from "./errors.ts";
import { type ExecSocket, ExecStream } from "./exec-stream.ts";

type Client = typeof import("@kubernetes/client-node");

export interface ClusterOptions {
  /** The path of a file, or of several, as in KUBECONFIG. */
  kubeconfig?: string | undefined;
  context?: string | undefined;
  namespace?: string | undefined;
  /** The limit of each call. */
  timeoutMs?: number;
}

const defaultTimeoutMs = 30_000;
const pingMs = 10_000;
const serviceAccountFolder = "/var/run/secrets/kubernetes.io/serviceaccount";

/** Loads the configuration. Does not connect yet. The client is large, so only workers that need it load it. */
export async function openCluster(options: ClusterOptions): Promise<Cluster> {
  const client = await import("@kubernetes/client-node");
  return new Cluster(client, loadConfig(client, options), options);
}

function loadConfig(client: Client, { kubeconfig, context }: ClusterOptions): KubeConfig {
  const config = new client.KubeConfig();
  const ownFile = join(homedir(), ".kube/config");
  try {
    if (kubeconfig !== undefined) loadFiles(client, config, kubeconfig);
    else if (existsSync(join(serviceAccountFolder, "token"))) config.loadFromCluster();
    else if (existsSync(ownFile)) config.loadFromFile(ownFile);
    else throw new Error("there is neither a service account nor a kubeconfig file");
  } catch (error) {
    throw new ClusterError(
      "configuration",
      `The worker does not know how to reach the Kubernetes cluster: ${(error as Error).message}. Set --kubernetes-kubeconfig or KUBECONFIG to the path of a kubeconfig file, or run the worker in a pod with a service account.`,
      { cause: error },
    );
  }
  if (context !== undefined) config.setCurrentContext(context);
  if (config.getCurrentCluster()) return config;
  throw new ClusterError(
    "configuration",
    `The kubeconfig file has no ${context === undefined ? "current context" : `context "${context}"`}. Set --kubernetes-context to one of: ${config.contexts.map(({ name }) => name).join(", ") || "(none)"}.`,
  );
}

/** KUBECONFIG can name several files. As for kubectl, the first one that has a current context decides. */
function loadFiles(client: Client, config: KubeConfig, paths: string): void {
  const [first = "", ...others] = paths.split(delimiter).filter((path) => path !== "");
  config.loadFromFile(first);
  for (const path of others) {
    const other = new client.KubeConfig();
    other.loadFromFile(path);
    config.mergeConfig(other, Boolean(config.currentContext));
  }
}

function readOwnNamespace(): string | undefined {
  try {
    return readFileSync(join(serviceAccountFolder, "namespace"), "utf8").trim() || undefined;
  } catch {
    return undefined;
  }
}

export class Cluster {
  readonly address: string;
  readonly namespace: string;
  /** The namespace of the pod in which this worker runs. Undefined outside of the cluster. */
  readonly ownNamespace: string | undefined;
  readonly #client: Client;
  readonly #config: KubeConfig;
  readonly #core: CoreV1Api;
  readonly #timeoutMs: number;

  constructor(client: Client, config: KubeConfig, { namespace, kubeconfig, timeoutMs }: ClusterOptions) {
    this.#client = client;
    this.#config = config;
    this.#core = config.makeApiClient(client.CoreV1Api);
    this.#timeoutMs = timeoutMs ?? defaultTimeoutMs;
    this.address = config.getCurrentCluster()?.server ?? "";
    const ofContext = config.getContextObject(config.getCurrentContext())?.namespace;
    this.ownNamespace = kubeconfig === undefined ? readOwnNamespace() : undefined;
    this.namespace = namespace ?? this.ownNamespace ?? ofContext ?? "default";
  }

  async version(): Promise<VersionInfo> {
    const api = this.#config.makeApiClient(this.#client.VersionApi);
    return await this.#call("read the version", (options) => api.getCode({}, options));
  }

  /** Rejects if the API server does not respond. */
  async ping(): Promise<void> {
    const api = this.#config.makeApiClient(this.#client.VersionApi);
    await this.#call("read the version", (options) => api.getCode({}, options), pingMs);
  }

  /** Whether the worker's account has a right in the namespace. */
  async isAllowed(right: V1ResourceAttributes): Promise<boolean> {
    const { namespace } = this;
    const api = this.#config.makeApiClient(this.#client.AuthorizationV1Api);
    const body = { spec: { resourceAttributes: { ...right, namespace } } };
    const { status } = await this.#call("review its own rights", (options) =>
      api.createSelfSubjectAccessReview({ body }, options),
    );
    return status?.allowed ?? false;
  }

  async createSecret(body: V1Secret): Promise<void> {
    const { namespace } = this;
    await this.#call("create secrets", (options) =>
      this.#core.createNamespacedSecret({ namespace, body }, options),
    );
  }

  async createPod(body: V1Pod): Promise<V1Pod> {
    const { namespace } = this;
    return await this.#call("create pods", (options) =>
      this.#core.createNamespacedPod({ namespace, body }, options),
    );
  }

  /** Returns undefined if the pod does not exist. */
  async readPod(name: string): Promise<V1Pod | undefined> {
    const { namespace } = this;
    try {
      return await this.#call("read pods", (options) =>
        this.#core.readNamespacedPod({ namespace, name }, options),
      );
    } catch (error) {
      if (isClusterError(error, "not_found")) return undefined;
      throw error;
    }
  }

  async listPods(labels: Record<string, string>): Promise<V1Pod[]> {
    const { namespace } = this;
    const labelSelector = Object.entries(labels)
      .map(([name, value]) => `${name}=${value}`)
      .join(",");
    const { items } = await this.#call("list pods", (options) =>
      this.#core.listNamespacedPod({ namespace, labelSelector }, options),
    );
    return items;
  }

  /** Needs a right that the worker's account may lack. */
  async listPodEvents(pod: string): Promise<CoreV1Event[]> {
    const { namespace } = this;
    const fieldSelector = `involvedObject.kind=Pod,involvedObject.name=${pod}`;
    const { items } = await this.#call("list events", (options) =>
      this.#core.listNamespacedEvent({ namespace, fieldSelector }, options),
    );
    return items;
  }

  /** Kills what still runs in a pod and removes it. Does nothing if it does not exist. */
  async deletePod(name: string): Promise<void> {
    const { namespace } = this;
    try {
      await this.#call("delete pods", (options) =>
        this.#core.deleteNamespacedPod({ namespace, name, gracePeriodSeconds: 0 }, options),
      );
    } catch (error) {
      if (!isClusterError(error, "not_found")) throw error;
    }
  }

  /** Starts a process in a container. That it could not start is only known when the stream ends. */
  async exec(pod: string, container: string, argv: string[]): Promise<ExecStream> {
    const query = new URLSearchParams({ container, stdin: "true", stdout: "true", stderr: "true" });
    for (const argument of argv) query.append("command", argument);
    const path = `/api/v1/namespaces/${this.namespace}/pods/${pod}/exec?${query}`;
    const stream = new ExecStream();
    const { handler } = new this.#client.Exec(this.#config);
    const opening = handler.connect(path, null, (channel, data) => {
      stream.receive(channel, data);
      return true;
    });
    void opening.then(
      (socket) => stream.open(socket as unknown as ExecSocket),
      () => {},
    );
    const timer = setTimeout(() => stream.destroy(timeoutError()), this.#timeoutMs);
    try {
      await Promise.race([opening, failure(stream)]);
      return stream;
    } catch (error) {
      stream.destroy();
      throw explainClusterError(explainUpgrade(error), this.#context("execute in pods"));
    } finally {
      clearTimeout(timer);
    }
  }

  async #call<T>(
    action: string,
    run: (options: ConfigurationOptions<ObservableMiddleware>) => Promise<T>,
    timeoutMs = this.#timeoutMs,
  ): Promise<T> {
    const signal = AbortSignal.timeout(timeoutMs);
    const { Observable } = this.#client;
    const limit: ObservableMiddleware = {
      pre: (request) => {
        request.setSignal(signal);
        return new Observable(Promise.resolve(request));
      },
      post: (response) => new Observable(Promise.resolve(response)),
    };
    try {
      return await run({ middleware: [limit], middlewareMergeStrategy: "append" });
    } catch (error) {
      throw explainClusterError(error, this.#context(action));
    }
  }

  #context(action: string): ErrorContext {
    return { address: this.address, namespace: this.namespace, action };
  }
}

const timeoutError = () => Object.assign(new Error("timeout"), { name: "TimeoutError" });

async function failure(stream: ExecStream): Promise<never> {
  return await new Promise((_, reject) => stream.once("error", reject));
}

/** The library reports the status of a refused upgrade only in the text of an event. */
function explainUpgrade(error: unknown): unknown {
  const { message = "", error: cause } = error as { message?: string; error?: Error };
  const status = /Unexpected server response: (\d+)/.exec(message)?.[1];
  if (status === undefined) return cause ?? error;
  const reasons: Record<string, string> = {
    403: "is forbidden: User of the worker cannot create resource pods/exec",
    404: "the pod does not exist",
  };
  return { code: Number(status), body: { message: reasons[status] ?? message } };
}
