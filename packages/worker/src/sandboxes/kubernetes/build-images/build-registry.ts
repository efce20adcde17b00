/**
 * The operator's registry for the images of builds. The operator has chosen it, so it may have a private address. As for other
 * registries, plain HTTP is only for the addresses that the operator allows.
 */
import { createDial } from "../../../egress/dial.ts";
import type { Exceptions } from "../../../egress/exceptions.ts";
import { createFairLookup } from "../../../egress/fair-lookup.ts";
import type { UpstreamProxy } from "../../../egress/upstream-proxy.ts";
import { type Credentials, parseCredentials } from "../../../images/credentials.ts";
import { ImageError } from "../../../images/image-error.ts";
import { digestOf } from "../../../images/images.ts";
import { parseReference, type Reference } from "../../../images/reference.ts";
import { Registry } from "../../../images/registry.ts";
import { openRemote, type Remote } from "../../../mcp/remote.ts";
import type { BuildRegistrySettings } from "../../kubernetes-settings.ts";
import { ClusterError } from "../cluster/errors.ts";

export interface BuildRegistryNetwork {
  exceptions: Exceptions;
  upstream: UpstreamProxy | undefined;
}

const connectMs = 10_000;
const anyAddress: Exceptions = { covers: () => true, names: () => true };

export class BuildRegistry {
  /** The registry and the repository. */
  readonly name: string;
  readonly host: string;
  readonly #repository: string;
  readonly #credentials: Credentials | undefined;
  readonly #remote: Remote;
  readonly #closing = new AbortController();

  constructor(settings: BuildRegistrySettings, { exceptions, upstream }: BuildRegistryNetwork) {
    const { registry, repository } = parseName(settings.name);
    this.name = `${registry}/${repository}`;
    this.host = registry;
    this.#repository = repository;
    this.#credentials = readCredentials(settings.credentials, registry);
    const { signal } = this.#closing;
    const dial = createDial({
      ...{ policy: { mode: "open", allow: [] }, exceptions: anyAddress, upstream },
      ...{ lookup: createFairLookup(), timeoutMs: connectMs, signal },
    });
    this.#remote = openRemote({ exceptions, dial });
  }

  /** Returns a client that can push. `mountFrom`: another repository of the registry, from which it can mount blobs. */
  open({
    tag,
    signal,
    mountFrom,
  }: {
    tag: string;
    signal: AbortSignal;
    mountFrom?: string | undefined;
  }): Registry {
    return new Registry({
      reference: this.#referenceOf(tag),
      ...{ credentials: this.#credentials, remote: this.#remote, signal },
      scopes: [
        `repository:${this.#repository}:pull,push`,
        ...(mountFrom === undefined ? [] : [`repository:${mountFrom}:pull`]),
      ],
    });
  }

  /** Returns the digest of an image, or undefined if the registry does not have it. */
  async findDigest(tag: string, signal: AbortSignal): Promise<string | undefined> {
    try {
      return await digestOf(this.open({ tag, signal }), this.#referenceOf(tag));
    } catch (error) {
      if (error instanceof ImageError && error.code === "not_found") return undefined;
      throw error;
    }
  }

  /** Returns why the worker cannot push. Starts an upload, because only this shows that it can. */
  async findProblem(signal: AbortSignal): Promise<string | undefined> {
    try {
      const { body } = await this.open({ tag: "check", signal }).request("blobs/uploads/", {
        method: "POST",
      });
      body.destroy();
      return undefined;
    } catch (error) {
      return this.explain(error);
    }
  }

  explain(error: unknown): string {
    if (error instanceof ImageError && error.code === "unauthorized")
      return this.#credentials
        ? `The registry ${this.host} did not accept the credentials of OUTRIDER_KUBERNETES_REGISTRY_CREDENTIALS for ${this.name}. Set them to \`user:token\` with the rights to pull and push.`
        : `The registry ${this.host} requires credentials for ${this.name}. Set OUTRIDER_KUBERNETES_REGISTRY_CREDENTIALS to \`user:token\` with the rights to pull and push.`;
    if ((error as Error).name === "TimeoutError")
      return `The registry ${this.host} did not respond in time. Check its address, and that this worker can reach it.`;
    if (error instanceof ImageError) return `${error.message} ${error.remedy}`;
    return (error as Error).message;
  }

  close(): void {
    this.#closing.abort();
    this.#remote.close();
  }

  #referenceOf(tag: string): Reference {
    return parseReference(`${this.name}:${tag}`);
  }
}

function parseName(name: string): Reference {
  const invalid = (problem: string, cause?: unknown) =>
    new ClusterError(
      "configuration",
      `--kubernetes-registry (OUTRIDER_KUBERNETES_REGISTRY) ${problem}. Set it to a registry and a repository, such as registry.example.com/outrider/builds.`,
      { cause },
    );
  const [first = ""] = name.split("/");
  if (name.includes("@") || name.slice(name.lastIndexOf("/") + 1).includes(":"))
    throw invalid("must have neither a tag nor a digest");
  if (first === name || !(/[.:]/.test(first) || first === "localhost")) throw invalid("names no registry");
  try {
    return parseReference(`${name}:tag`);
  } catch (error) {
    throw invalid(`is not a valid repository: ${JSON.stringify(name)}`, error);
  }
}

function readCredentials(text: string | undefined, registry: string): Credentials | undefined {
  if (text === undefined) return undefined;
  let parsed: Credentials | undefined;
  try {
    parsed = parseCredentials(text, registry);
  } catch (error) {
    throw invalidCredentials((error as Error).message, error);
  }
  if (!parsed) throw invalidCredentials(`They have no entry for ${registry}.`);
  return parsed;
}

function invalidCredentials(problem: string, cause?: unknown): ClusterError {
  return new ClusterError(
    "configuration",
    `OUTRIDER_KUBERNETES_REGISTRY_CREDENTIALS is invalid. ${problem} Set it to \`user:token\`, or to the content of Docker's config.json.`,
    { cause },
  );
}
