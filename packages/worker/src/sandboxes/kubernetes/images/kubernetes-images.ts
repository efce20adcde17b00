/**
 * Images for the pods of sandboxes. The node of a pod pulls its image. The worker asks the registry only for the digest and the
 * configuration, and opens a pod once, which shows that the nodes can pull the image, and reads what the registry does not say.
 *
 * A node gives an image that it has to every pod. Private images must not be for everyone: an image is on this worker only for
 * those who use the same secret. So `pull` asks the registry with the caller's credentials unless there is a record for them,
 * and pods name images with the digest. Callers share a pod only after each has asked.
 */
import { createHash } from "node:crypto";
import type { Exceptions } from "../../../egress/exceptions.ts";
import type { UpstreamProxy } from "../../../egress/upstream-proxy.ts";
import { parseCredentials } from "../../../images/credentials.ts";
import { ImageError } from "../../../images/image-error.ts";
import { describeImage, resolveDigest } from "../../../images/images.ts";
import type { ImageConfig } from "../../../images/manifest.ts";
import { parseReference } from "../../../images/reference.ts";
import type { Capability } from "../../limits.ts";
import type { ImageSource, PullOptions, PullReports, SandboxImage } from "../../sandbox.ts";
import type { Cluster } from "../cluster/connect.ts";
import { isClusterError } from "../cluster/errors.ts";
import type { PodOptions } from "../pods/pod-options.ts";
import { type ImageRecord, ImageRecords } from "./image-records.ts";
import type { PullCredentials } from "./pull-secret.ts";
import { SharedWork } from "./shared-work.ts";

/** What only the files of an image say. */
export type ImageFacts = Pick<ImageRecord, "accounts" | "osRelease" | "home">;

export interface KubernetesImagesOptions {
  cluster: Pick<Cluster, "isAllowed" | "namespace">;
  podOptions: PodOptions;
  /** A folder of the worker for records of images. */
  folder: string;
  ids(): Capability;
  /** The private addresses from which images can be pulled. */
  exceptions: Exceptions;
  upstream: UpstreamProxy | undefined;
  /** The registry and the repository of the images of builds, which environments cannot use. */
  buildRepository?: string | undefined;
  /** Reads the facts in a sandbox with the image. */
  probe(image: SandboxImage, signal: AbortSignal): Promise<ImageFacts>;
}

export class KubernetesImages implements ImageSource {
  readonly problem = undefined;
  readonly #options: KubernetesImagesOptions;
  readonly #records: ImageRecords;
  /** By the id of an image: what its pods need to be pulled. */
  readonly #names = new Map<string, string>();
  readonly #credentials = new Map<string, PullCredentials>();
  /** With these, this worker itself reads the image. */
  readonly #registryCredentials = new Map<string, string>();
  /** By the id of an image. */
  readonly #probes = new SharedWork<ImageRecord>();

  constructor(options: KubernetesImagesOptions) {
    this.#options = options;
    this.#records = new ImageRecords(options.folder);
  }

  get ids(): Capability {
    return this.#options.ids();
  }

  async resolve(reference: string, { credentials, secretName, signal }: PullOptions): Promise<string> {
    this.#assertNoBuild(reference);
    await this.#assertMayPull(secretName);
    return await resolveDigest(reference, this.#request(credentials, signal));
  }

  async pull(
    { reference, digest }: { reference: string; digest: string },
    {
      credentials,
      secretName,
      signal,
      onProgress = () => {},
      onDownloaded = () => {},
    }: PullOptions & PullReports,
  ): Promise<SandboxImage> {
    this.#assertNoBuild(reference);
    await this.#assertMayPull(secretName);
    const parsed = parseReference(`${reference.replace(/@sha256:[0-9a-f]+$/, "")}@${digest}`);
    const name = `${parsed.registry}/${parsed.repository}@${digest}`;
    const id = idOf(name, secretName);
    const parsedCredentials = credentials && parseCredentials(credentials, parsed.registry);
    if (parsedCredentials && (await this.#maySendCredentials()))
      this.#credentials.set(id, { ...parsedCredentials, registry: parsed.registry });
    if (credentials !== undefined) this.#registryCredentials.set(id, credentials);
    this.#names.set(id, name);
    const image = { reference, digest, layers: [id] };
    let record = this.#records.read(id);
    if (record) onProgress("The nodes of the cluster have pulled the image before.");
    else {
      const config = await describeImage(parsed.text, this.#request(credentials, signal));
      onProgress("The cluster starts a pod with the image.");
      const startedAt = performance.now();
      record = await this.#probes.do(id, signal, async (untilUnneeded) => {
        const known = this.#records.read(id); // another caller's pod may have ended meanwhile
        if (known) return known;
        const facts = await this.#probe(describe(image, { config, osRelease: "" }), untilUnneeded);
        const probed = { name, config, ...facts };
        this.#records.write(id, probed);
        return probed;
      });
      onProgress(`The pod was ready after ${((performance.now() - startedAt) / 1000).toFixed(1)} s.`);
    }
    onDownloaded(0);
    return describe(image, record);
  }

  async #probe(image: SandboxImage, signal: AbortSignal): Promise<ImageFacts> {
    try {
      return await this.#options.probe(image, signal);
    } catch (error) {
      signal.throwIfAborted();
      if (!isClusterError(error, "image_pull")) throw error;
      const remedy = "Or use an image of another registry.";
      throw new ImageError("unreachable", error.message, remedy, { cause: error });
    }
  }

  /** Returns the name of an image from `pull`, with its digest, and its users and its home if they are known yet. */
  find({ layers: [id = ""] }: SandboxImage): {
    name: string;
    accounts: string | undefined;
    home: ImageRecord["home"];
    credentials: PullCredentials | undefined;
    registryCredentials: string | undefined;
  } {
    const record = this.#records.read(id);
    const name = record?.name ?? this.#names.get(id);
    if (name === undefined) throw new Error("The image was not pulled by this worker.");
    return {
      ...{ name, accounts: record?.accounts, home: record?.home, credentials: this.#credentials.get(id) },
      registryCredentials: this.#registryCredentials.get(id),
    };
  }

  /** The nodes may have the builds of all environments, and pull them with the operator's credentials. */
  #assertNoBuild(reference: string): void {
    const { registry, repository } = parseReference(reference);
    if (`${registry}/${repository}` !== this.#options.buildRepository) return;
    throw new ImageError(
      "unsupported",
      `The repository ${registry}/${repository} is for the builds of this installation, so environments cannot use its images.`,
      "Use an image of another repository.",
    );
  }

  #request(credentials: string | undefined, signal: AbortSignal) {
    const { exceptions, upstream } = this.#options;
    return { ...(credentials ? { credentials } : {}), exceptions, upstream, signal };
  }

  /** Nodes need credentials too: those of a secret that the worker creates, or those that the operator has configured. */
  async #assertMayPull(secretName: string | undefined): Promise<void> {
    const { podOptions, cluster } = this.#options;
    if (secretName === undefined || podOptions.imagePullSecrets?.length) return;
    if (await this.#maySendCredentials()) return;
    throw new ImageError(
      "unsupported",
      `\`docker_image_secret\` cannot be used: this worker may not create secrets in the namespace ${cluster.namespace}, so the nodes of the cluster would not get the credentials.`,
      "Ask the operator to set `sandboxes.pullSecrets` in the Helm chart, or to name a secret with credentials for the registry as `imagePullSecrets` in the file of --kubernetes-pod.",
    );
  }

  /** If the cluster does not tell the worker its rights, it has to do without this one. */
  async #maySendCredentials(): Promise<boolean> {
    try {
      return await this.#options.cluster.isAllowed({ verb: "create", resource: "secrets" });
    } catch (error) {
      if (isClusterError(error) && !error.isRecoverable) return false;
      throw error;
    }
  }
}

function idOf(name: string, secretName: string | undefined): string {
  return createHash("sha256")
    .update(JSON.stringify([name, secretName ?? null]))
    .digest("hex");
}

function describe(
  image: Pick<SandboxImage, "reference" | "digest" | "layers">,
  { config, osRelease }: { config: ImageConfig; osRelease: string },
): SandboxImage {
  const { env, workingDir: workingFolder, user = "root", onBuild } = config;
  return { ...image, env, workingFolder, user, onBuild, osRelease };
}
