/**
 * Builds images with the engine's BuildKit, which keeps the result of each instruction. It is used only if the operator has
 * chosen it, because its commands obey neither the limits nor the network policy of an environment.
 */
import { randomUUID } from "node:crypto";
import { Readable } from "node:stream";
import type Docker from "dockerode";
import { ImageError } from "../../../images/image-error.ts";
import { parseConfig } from "../../../images/manifest.ts";
import type { Log } from "../../../log.ts";
import { explainBuildKitProblem } from "../../buildkit-support.ts";
import type { Capability } from "../../limits.ts";
import type { Owner } from "../../owner.ts";
import {
  type BuildStep,
  type BuiltImage,
  type DockerfileBuilder,
  type DockerfileBuildOptions,
  DockerfileError,
  type SandboxImage,
} from "../../sandbox.ts";
import type { Engine } from "../engine/connect.ts";
import { type EngineDescription, engineTitle } from "../engine/describe.ts";
import { EngineError, isEngineError } from "../engine/errors.ts";
import { readProgress } from "../engine/progress.ts";
import { removeImage } from "../images/remove-image.ts";
import { sandboxLabels } from "../labels.ts";
import { decodeTrace } from "./build-trace.ts";

/** The limit for one instruction, as in a sandbox. */
const STEP_TIMEOUT_MS = 60 * 60_000;
/** The first version of the API of engines whose BuildKit knows heredocs. */
const HEREDOC_API = 42;
/** Steps that are not from the Dockerfile, such as "[internal] load metadata" and "exporting to image". */
const ownStep = /^\[(?!internal\])/;

export const buildKitCapability: Capability = {
  enforced: false,
  reason:
    "BuildKit executes them. Their commands have no limits, and the network of the engine's machine. Remove --docker-builder (OUTRIDER_DOCKER_BUILDER) to execute them in sandboxes.",
};

export interface BuildKitOptions {
  engine: Engine;
  owner: Owner;
  description: EngineDescription;
  /** The runtime of sandboxes, if it is not the engine's. */
  runtime: string | undefined;
  /** Disk space for the results of instructions. */
  maxCacheBytes: number;
  log: Log;
}

/** Rejects engines without BuildKit, and runtimes that it would not use. */
export function openBuildKit(options: BuildKitOptions): DockerfileBuilder {
  const { description, runtime = description.defaultRuntime } = options;
  const title = engineTitle(description);
  const problem = explainBuildKitProblem({ engine: description.name, title, runtime });
  if (problem !== undefined)
    throw new EngineError("failed", `${problem} Remove --docker-builder (OUTRIDER_DOCKER_BUILDER).`);
  return new BuildKit(options);
}

class BuildKit implements DockerfileBuilder {
  readonly #options: BuildKitOptions;

  constructor(options: BuildKitOptions) {
    this.#options = options;
  }

  get knowsHeredocs(): boolean {
    return Number(this.#options.engine.apiVersion.split(".")[1]) >= HEREDOC_API;
  }

  get #docker(): Docker {
    return this.#options.engine.docker;
  }

  async build(options: DockerfileBuildOptions): Promise<BuiltImage> {
    const { base, label } = options;
    // Without a sandbox of this name, a worker that starts removes the image.
    const labels = sandboxLabels(this.#options.owner, {
      ...{ kind: "dockerfile", sandbox: `dockerfile-${randomUUID()}`, label },
    });
    const id = await this.#execute(options, labels);
    const remove = async () => void (await removeImage(this.#docker, id));
    await this.#prune();
    try {
      return { image: await this.#describe(id, base), remove };
    } catch (error) {
      await remove();
      throw error instanceof ImageError ? new DockerfileError(`${error.message} ${error.remedy}`) : error;
    }
  }

  async #execute(options: DockerfileBuildOptions, labels: Record<string, string>): Promise<string> {
    const { signal } = options;
    const steps = new Steps(options);
    const tooLong = new AbortController();
    const timer = setTimeout(() => tooLong.abort(), STEP_TIMEOUT_MS);
    let id: string | undefined;
    try {
      const stream = await this.#start(options, labels, AbortSignal.any([signal, tooLong.signal]));
      await readProgress(stream, (message) => {
        if (message.id === "moby.buildkit.trace" && typeof message.aux === "string") {
          if (steps.add(message.aux)) timer.refresh();
        } else if (message.id === "moby.image.id") id = (message.aux as { ID?: string }).ID;
      });
    } catch (error) {
      signal.throwIfAborted();
      steps.end();
      if (tooLong.signal.aborted) throw new DockerfileError("An instruction took longer than an hour.");
      throw steps.explain(error);
    } finally {
      clearTimeout(timer);
    }
    steps.end();
    if (id !== undefined) return id;
    throw new EngineError("failed", "The container engine did not say which image it has built.");
  }

  /** The client library has this call too, but only with a session for credentials, which are not needed here. */
  async #start(
    { context, path, target, args, hasNetwork }: DockerfileBuildOptions,
    labels: Record<string, string>,
    abortSignal: AbortSignal,
  ): Promise<NodeJS.ReadableStream> {
    const { modem } = this.#docker;
    return await new Promise((resolve, reject) => {
      modem.dial(
        {
          ...{ path: "/build?", method: "POST", isStream: true, file: Readable.from(context), abortSignal },
          statusCodes: { 200: true, 400: "bad parameter", 500: "server error" },
          options: {
            ...{ version: "2", dockerfile: path, rm: true, forcerm: true },
            ...(target === undefined ? {} : { target }),
            ...(hasNetwork ? {} : { networkmode: "none" }),
            ...{ buildargs: JSON.stringify(args), labels: JSON.stringify(labels) },
          },
        },
        (error: unknown, stream: unknown) =>
          error ? reject(error as Error) : resolve(stream as NodeJS.ReadableStream),
      );
    });
  }

  /** The results that builds have used last stay. */
  async #prune(): Promise<void> {
    const { maxCacheBytes, log } = this.#options;
    const options: object = { "keep-storage": maxCacheBytes }; // the types lack it
    await this.#docker
      .pruneBuilder(options)
      .catch((error) => log.warn({ error }, "failed to remove old results of BuildKit"));
  }

  async #describe(id: string, base: SandboxImage): Promise<SandboxImage> {
    const { Os: os, Architecture, Config, RootFS } = await this.#docker.getImage(id).inspect();
    const layers = RootFS?.Layers ?? [];
    const json = { os, architecture: Architecture, config: Config, rootfs: { diff_ids: layers } };
    const { config } = parseConfig(Buffer.from(JSON.stringify(json)), {
      ...{ architecture: this.#options.description.architecture, layerCount: layers.length },
    });
    return {
      ...base,
      ...{ layers: [...base.layers, id], env: config.env },
      ...{ user: config.user ?? "root", workingFolder: config.workingDir },
    };
  }
}

/** Reports the steps of a build, each once when it starts and once when it ends. */
class Steps {
  readonly #options: Pick<DockerfileBuildOptions, "onStep" | "onOutput">;
  readonly #running = new Map<string, string>();
  readonly #ended = new Set<string>();
  #failed: { name: string; reason: string } | undefined;

  constructor(options: Pick<DockerfileBuildOptions, "onStep" | "onOutput">) {
    this.#options = options;
  }

  /** Returns whether a step has ended. */
  add(aux: string): boolean {
    const { vertexes, logs } = decodeTrace(aux);
    let hasEnded = false;
    for (const { digest, name: longName, cached = false, started, completed, error } of vertexes) {
      const name = longName.replaceAll(/(?<=@sha256:[0-9a-f]{12})[0-9a-f]{52}/g, "");
      if (!ownStep.test(name) || this.#ended.has(digest)) continue;
      if (started && !this.#running.has(digest)) {
        this.#running.set(digest, name);
        this.#options.onStep({ name, state: "started" });
      }
      if (!completed) continue;
      // A step that was cancelled because another one failed has an error too.
      if (error && !/context canceled/.test(error)) this.#failed ??= { name, reason: error };
      hasEnded = true;
      this.#end(digest, { state: error ? "failed" : "finished", cached });
    }
    for (const { vertex, msg } of logs) {
      const step = this.#running.get(vertex);
      if (step !== undefined) this.#options.onOutput(step, Buffer.from(msg));
    }
    return hasEnded;
  }

  /** Ends the steps whose end BuildKit has not reported. */
  end(): void {
    for (const digest of [...this.#running.keys()]) this.#end(digest, { state: "failed", cached: false });
  }

  /** Returns the error of the step that failed, or of the file. */
  explain(error: unknown): unknown {
    if (this.#failed) return new DockerfileError(this.#failed.reason, this.#failed.name);
    return isEngineError(error, "failed") ? new DockerfileError(responseOf(error)) : error;
  }

  #end(digest: string, end: Pick<BuildStep, "state" | "cached">): void {
    const name = this.#running.get(digest);
    this.#running.delete(digest);
    this.#ended.add(digest);
    if (name !== undefined) this.#options.onStep({ name, ...end });
  }
}

function responseOf({ cause, message }: EngineError): string {
  return (cause as { json?: { message?: string } } | undefined)?.json?.message ?? message;
}
