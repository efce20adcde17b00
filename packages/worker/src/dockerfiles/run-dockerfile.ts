import { Failure } from "@outrider/agent/failure";
import { BuildDevcontainer } from "@outrider/contract/devcontainer";
import type { ResolvedImage } from "@outrider/contract/image";
import type { BuildSandboxes } from "../builds/build-sandboxes.ts";
import type { StepLog, StepRunner } from "../builds/step-runner.ts";
import { writeImageFiles } from "../egress/sandbox-files.ts";
import type { Sandbox, SandboxImage, SandboxProvider } from "../sandboxes/sandbox.ts";
import { buildDockerfile } from "./build-dockerfile.ts";
import { transfer } from "./file-copier.ts";
import type { ResolvedDockerfile } from "./read.ts";

interface RunOptions {
  provider: SandboxProvider;
  sandboxes: BuildSandboxes;
  /** The image of the last stage. */
  base: SandboxImage;
  /** What the runs of the build take from its devcontainer.json. */
  devcontainer: BuildDevcontainer | undefined;
  secrets: Record<string, string>;
  log: StepLog;
  pull(image: ResolvedImage): Promise<SandboxImage>;
  createRunner(sandbox: Sandbox): StepRunner;
}

/** Executes a Dockerfile. Returns the sandbox of its last stage, and what the runs of the build need. */
export async function runDockerfile(
  dockerfile: ResolvedDockerfile,
  { provider, sandboxes, base, devcontainer, secrets, log, pull, createRunner }: RunOptions,
): Promise<{ sandbox: Sandbox; forRuns: BuildDevcontainer }> {
  const { sandbox, image } = await buildDockerfile({
    ...{ dockerfile, secrets, createRunner, signal: log.signal, copyProgram: provider.programs.sandboxCopy },
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
  const { path } = dockerfile.file;
  const env = Object.entries(image.env).filter(([name, value]) => base.env[name] !== value);
  const forRuns = BuildDevcontainer.safeParse({
    ...{ container_env: {}, remote_env: {}, start_commands: [], path, blob_id: dockerfile.blobId },
    ...devcontainer,
    dockerfile: { env: Object.fromEntries(env), user: image.user, working_folder: image.workingFolder },
  });
  if (forRuns.success) return { sandbox, forRuns: forRuns.data };
  const [issue] = forRuns.error.issues;
  const field = issue?.path.map(String).join(".").slice(0, 200);
  throw new Failure("environment_setup_failed", `${path}: \`${field}\` ${issue?.message}.`);
}
