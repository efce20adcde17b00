import { Deadline } from "../deadline.ts";
import { commandFiles, scriptFiles } from "../files/container-files.ts";
import { InitProcesses } from "../init/init-processes.ts";
import { LimitCounts } from "../init/limit-counts.ts";
import { describeEnforcement, resolveLimits } from "../limits.ts";
import { forwardsOf } from "../network/forwards.ts";
import { sandboxPaths } from "../paths.ts";
import type { OpenOptions, SandboxImage } from "../sandbox.ts";
import { assertSandboxId } from "../sandbox-id.ts";
import type { ProcessKind } from "../systems/command-system.ts";
import { createImageSystem, DefaultSystem } from "../systems/container-systems.ts";
import type { BaseObjects } from "./bases/docker-bases.ts";
import { ContainerProcess } from "./containers/container-process.ts";
import type { ContainerSpec, VolumeMount } from "./containers/container-spec.ts";
import { SandboxContainers } from "./containers/sandbox-containers.ts";
import { scriptLimits } from "./containers/script-limits.ts";
import { DockerSandbox } from "./docker-sandbox.ts";
import { findImageHome } from "./image-home.ts";
import { sandboxLabels, sandboxObjectName } from "./labels.ts";
import { createSandboxFiles } from "./sandbox-files.ts";
import type { SharedResources } from "./shared-resources.ts";
import { SandboxVolumes } from "./volumes/sandbox-volumes.ts";

type CreateOptions = OpenOptions & { onClosed(): void; onCloseFailed(): void };

/** Creates the volumes of a sandbox. Its containers are created with its first command. */
export async function createDockerSandbox(
  shared: SharedResources,
  options: CreateOptions,
): Promise<DockerSandbox> {
  const { id, label, image } = options;
  const { docker, owner } = shared;
  assertSandboxId(id);
  const limits = resolveLimits(options.limits ?? {}, shared.capabilities, shared.defaultLimits);
  const resources = new AsyncDisposableStack();
  const labels = sandboxLabels(owner, { kind: "sandbox", sandbox: id, label });
  const volumes = new SandboxVolumes(docker, {
    ...{ prefix: sandboxObjectName(owner, { sandbox: id, kind: "volume" }), labels },
    disk_mb: limits.disk_mb,
  });
  try {
    const base =
      options.base === undefined
        ? undefined
        : resources.adopt(shared.bases.acquire(options.base), ({ release }) => release()).objects;
    const imageId = imageOf(image, base, shared);
    const home = image
      ? await findImageHome(shared, { image: imageId, user: image.user, labels })
      : sandboxPaths.home;
    const files = await createSandboxFiles({
      ...{ shared, volumes, labels, home, base, hasImage: image !== undefined },
    });
    const specs = await describeContainers(shared, { options, imageId, labels, limits, files });
    const containers = new SandboxContainers(docker, {
      commands: {
        ...{ name: nameOf(shared, id, "commands"), spec: specs.commands, isUnique: image !== undefined },
        files: commandFiles(options, { hasFolders: base !== undefined }),
      },
      scripts: {
        ...{ name: nameOf(shared, id, "scripts"), spec: specs.scripts, isUnique: false },
        files: scriptFiles(options),
      },
    });
    const hasNetwork = options.network !== undefined;
    const homes = new Set(home === undefined ? [] : [home]);
    const system = image
      ? createImageSystem(image, { hasNetwork, homes })
      : new DefaultSystem({ hasNetwork });
    const counts = new LimitCounts();
    return new DockerSandbox({
      ...{ id, label, image, containers, volumes, files, shared, system, labels },
      base: options.base,
      workingFolder: options.workingFolder,
      enforced: {
        ...describeEnforcement(limits, shared.capabilities),
        ...(image ? { ids: shared.ids } : {}),
      },
      createProcesses: ({ assertMayStart }) => {
        const deadline = new Deadline(options.deadline, () => processes.killAll());
        resources.defer(() => deadline.clear());
        const processes = new InitProcesses({
          ...{ id, system, assertMayStart, deadline, log: shared.log },
          forwards: forwardsOf(options),
          launch: (kind, hooks) =>
            new ContainerProcess({
              ...{ docker, hooks, log: shared.log, onOutOfMemory: () => counts.addOutOfMemory() },
              getContainer: () => containers.get(kind),
            }),
          scriptsNeedCommands: image !== undefined,
          // It is the same container.
          startsAfterKilled: true,
          limitEvents: (connections) => counts.read(connections),
        });
        return processes;
      },
      releaseResources: () => resources.disposeAsync(),
      onClosed: options.onClosed,
      onCloseFailed: options.onCloseFailed,
    });
  } catch (error) {
    await resources.disposeAsync();
    await volumes.remove().catch(() => {}); // reap removes them later
    throw error;
  }
}

function imageOf(
  image: SandboxImage | undefined,
  base: BaseObjects | undefined,
  { systemImage }: SharedResources,
): string {
  if (!image) return systemImage;
  return base?.image ?? (image.layers.at(-1) as string);
}

function nameOf({ owner }: SharedResources, sandbox: string, kind: ProcessKind): string {
  return sandboxObjectName(owner, { sandbox, kind });
}

async function describeContainers(
  shared: SharedResources,
  {
    options,
    imageId,
    labels,
    limits,
    files,
  }: {
    options: OpenOptions;
    imageId: string;
    labels: Record<string, string>;
    limits: ContainerSpec["limits"];
    files: { commandMounts: VolumeMount[]; scriptMounts: VolumeMount[] };
  },
): Promise<Record<ProcessKind, ContainerSpec>> {
  const { runtime, systemImage, programs, bundleVolumes } = shared;
  const [seccomp, ...bundles] = await Promise.all([
    shared.seccomp.value(),
    ...[programs, ...(options.bundles ?? [])].map(async (bundle) => {
      return { volume: await bundleVolumes.get(bundle), target: bundle.target, readOnly: true };
    }),
  ]);
  const common = { labels, seccomp, runtime, hosts: options.hosts };
  return {
    commands: {
      ...{ ...common, limits, image: imageId, root: options.image ? "image" : undefined },
      mounts: [...files.commandMounts, ...bundles],
    },
    scripts: {
      ...{ ...common, image: systemImage, root: options.image ? "scripts" : undefined },
      limits: scriptLimits(limits),
      mounts: [...files.scriptMounts, ...bundles],
    },
  };
}
