import { Failure } from "@outrider/agent/failure";
import { BuildDevcontainer } from "@outrider/contract/devcontainer";
import type { ResolvedImage } from "@outrider/contract/image";
import type { AssignedEnvironment } from "@outrider/contract/worker/environment";
import type { BuildSandboxes } from "../builds/build-sandboxes.ts";
import type { OnStep, StepLog, StepRunner } from "../builds/step-runner.ts";
import { writeImageFiles } from "../egress/sandbox-files.ts";
import type { Redactor } from "../redaction/redact.ts";
import type { DockerfileBuilder, Sandbox, SandboxImage, SandboxProvider } from "../sandboxes/sandbox.ts";
import { type BuiltStage, buildDockerfile } from "./build-dockerfile.ts";
import { buildOutside } from "./build-outside.ts";
import { transfer } from "./file-copier.ts";
import type { ResolvedDockerfile } from "./read.ts";

interface RunOptions {
  provider: SandboxProvider;
  /** Executes the file instead of sandboxes, if it can. */
  builder: DockerfileBuilder | undefined;
  sandboxes: BuildSandboxes;
  /** The image of the last stage. */
  base: SandboxImage;
  /** What the runs of the build take from its devcontainer.json. */
  devcontainer: BuildDevcontainer | undefined;
  environment: Pick<AssignedEnvironment, "network" | "repos" | "build_secrets">;
  buildId: string;
  redactor: Redactor;
  log: StepLog;
  onStep: OnStep;
  pull(image: ResolvedImage): Promise<SandboxImage>;
  createRunner(sandbox: Sandbox): StepRunner;
}

interface RunDockerfile {
  /** The sandbox of the last stage. */
  sandbox: Sandbox;
  /** What the runs of the build need. */
  forRuns: BuildDevcontainer;
  /** Called when the sandbox is closed. */
  dispose(): Promise<void>;
}

/** Executes a Dockerfile, in sandboxes or with the builder that the operator has chosen. */
export async function runDockerfile(
  dockerfile: ResolvedDockerfile,
  options: RunOptions,
): Promise<RunDockerfile> {
  const { builder, sandboxes, buildId } = options;
  const built = builder
    ? await buildOutside({ ...options, dockerfile, builder, label: { build_id: buildId } })
    : undefined;
  if (!built) {
    const { sandbox, image } = await buildInSandboxes(dockerfile, options);
    return { sandbox, forRuns: describeForRuns(dockerfile, image, options), dispose: async () => {} };
  }
  try {
    const forRuns = describeForRuns(dockerfile, built.image, options);
    const sandbox = await sandboxes.open({ ...built.image, user: "root", mayLackShell: true });
    return { sandbox, forRuns, dispose: () => built.remove() };
  } catch (error) {
    await built.remove();
    throw error;
  }
}

async function buildInSandboxes(
  dockerfile: ResolvedDockerfile,
  { provider, sandboxes, base, environment, log, pull, createRunner }: RunOptions,
): Promise<BuiltStage> {
  return await buildDockerfile({
    ...{ dockerfile, createRunner, signal: log.signal, copyProgram: provider.programs.sandboxCopy },
    secrets: environment.build_secrets ?? {},
    pull: async (resolved) => (resolved.digest === base.digest ? base : await pull(resolved)),
    open: (over) => sandboxes.open(over),
    close: (opened) => sandboxes.close(opened),
    prepare: (opened) => writeImageFiles(opened, sandboxes.network(opened)),
    emitNotice: (message) => log.write({ type: "notice", data: { message } }),
    async copyChanges(from, to) {
      const [packing, unpacking] = await Promise.all([
        provider.packBase(from, { signal: log.signal }),
        provider.unpackBase(to, { signal: log.signal }),
      ]);
      await transfer(packing, unpacking, log.signal);
    },
  });
}

function describeForRuns(
  dockerfile: ResolvedDockerfile,
  image: SandboxImage,
  { base, devcontainer }: RunOptions,
): BuildDevcontainer {
  const { path } = dockerfile.file;
  const env = Object.entries(image.env).filter(([name, value]) => base.env[name] !== value);
  const forRuns = BuildDevcontainer.safeParse({
    ...{ container_env: {}, remote_env: {}, start_commands: [], path, blob_id: dockerfile.blobId },
    ...devcontainer,
    dockerfile: { env: Object.fromEntries(env), user: image.user, working_folder: image.workingFolder },
  });
  if (forRuns.success) return forRuns.data;
  const [issue] = forRuns.error.issues;
  const field = issue?.path.map(String).join(".").slice(0, 200);
  throw new Failure("environment_setup_failed", `${path}: \`${field}\` ${issue?.message}.`);
}
