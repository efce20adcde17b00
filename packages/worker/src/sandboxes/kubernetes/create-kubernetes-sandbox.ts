import { Deadline } from "../deadline.ts";
import { InitProcesses } from "../init/init-processes.ts";
import { LimitCounts } from "../init/limit-counts.ts";
import { type Capabilities, describeEnforcement, NotEnforceableError, resolveLimits } from "../limits.ts";
import { forwardsOf } from "../network/forwards.ts";
import { sandboxPaths } from "../paths.ts";
import type { OpenOptions, SandboxImage } from "../sandbox.ts";
import { assertSandboxId } from "../sandbox-id.ts";
import { createImageSystem, DefaultSystem } from "../systems/container-systems.ts";
import { canBeVolume, homeOf } from "../systems/image-home.ts";
import { sandboxUser } from "../systems/sandbox-user.ts";
import { readImageBase } from "./bases/image-base.ts";
import type { FoundBuildImage } from "./build-images/build-images.ts";
import { KubernetesSandbox } from "./kubernetes-sandbox.ts";
import { sandboxMetadata } from "./labels.ts";
import { PodSetup } from "./pod-setup.ts";
import { PodProcess } from "./pods/pod-process.ts";
import type { PodPlan } from "./pods/pod-spec.ts";
import { SandboxPod } from "./pods/sandbox-pod.ts";
import type { SharedResources } from "./shared-resources.ts";

/** The cluster itself ends a pod after this time, if everything else fails. */
const maxPodSeconds = 7 * 24 * 3600;

type CreateOptions = OpenOptions & { onClosed(): void; onCloseFailed(): void };

/** Creates the pod of a sandbox, or leaves it to the first use. The first command waits until it runs. */
export async function createKubernetesSandbox(
  shared: SharedResources,
  options: CreateOptions,
): Promise<KubernetesSandbox> {
  const { id, label, image } = options;
  const { cluster, capabilities, log } = shared;
  assertSandboxId(id);
  assertNetworkEnforced(options, capabilities);
  const requested = options.limits ?? {};
  const limits = resolveLimits(requested, capabilities);
  const resources = new AsyncDisposableStack();
  try {
    const base =
      options.base === undefined
        ? undefined
        : resources.adopt(shared.bases.acquire(options.base), ({ release }) => release()).path;
    const forImage = image ? await describeImagePod(shared, image, base) : noImage;
    const { home, homeArchive } = forImage;
    const buildImage =
      options.base === undefined ? undefined : await findBuildImage(shared, options, options.base);
    const metadata = sandboxMetadata(shared.owner, { sandbox: id, label });
    const { ownerReference } = shared;
    const pod = new SandboxPod(
      cluster,
      {
        metadata: { ...metadata, ...(ownerReference ? { ownerReferences: [ownerReference] } : {}) },
        systemImage: shared.systemImage,
        ...{ image: forImage.image, pullCredentials: forImage.pullCredentials },
        ...{ home, fillsHome: forImage.fillsHome, buildImage: buildImage?.name },
        ...{ limits, requested, hosts: options.hosts, maxSeconds: maxPodSeconds },
        bundles: (options.bundles ?? []).map(({ target }) => target),
        deadlineMs: Number(options.deadline - process.hrtime.bigint()) / 1e6,
        options: shared.podOptions,
      },
      shared.startLimits,
      (error) => reportProblem(options, buildImage?.reportPullFailure(error)),
    );
    if (!options.mayStayUnused) await pod.create();
    const setup = new PodSetup({ pod, options, base, home, homeArchive });
    const hasNetwork = options.network !== undefined;
    const { folders } = setup;
    const system = image
      ? createImageSystem(image, { hasNetwork, homes: new Set(home === undefined ? [] : [home]), folders })
      : new DefaultSystem({ hasNetwork, folders, user: { ...sandboxUser, groups: [] } });
    const counts = new LimitCounts();
    return new KubernetesSandbox({
      ...{ id, label, home, pod, setup, shared, system },
      hasImage: image !== undefined,
      base: options.base,
      workingFolder: options.workingFolder,
      enforced: {
        ...describeEnforcement(limits, capabilities),
        ...(image ? { ids: shared.images.ids } : {}),
      },
      createProcesses: ({ assertMayStart }) => {
        const deadline = new Deadline(options.deadline, () => processes.killAll());
        resources.defer(() => deadline.clear());
        const processes = new InitProcesses({
          ...{ id, system, assertMayStart, deadline, log },
          forwards: forwardsOf(options),
          launch: (kind, hooks) =>
            new PodProcess({ kind, pod, hooks, setup, log, onOutOfMemory: () => counts.addOutOfMemory() }),
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
    throw error;
  }
}

async function findBuildImage(
  { buildImages }: SharedResources,
  options: CreateOptions,
  base: string,
): Promise<FoundBuildImage | undefined> {
  const found = await buildImages?.find(base, options.image);
  reportProblem(options, found?.problem);
  return found;
}

function reportProblem({ onNotice }: CreateOptions, problem: string | undefined): void {
  if (problem) onNotice?.(`The build is restored without the registry, which takes longer. ${problem}`);
}

type ImagePod = Pick<PodPlan, "image" | "pullCredentials" | "home" | "fillsHome"> & {
  /** What the worker fills the home with. */
  homeArchive?: Buffer | undefined;
};

const noImage: ImagePod = { image: undefined, home: sandboxPaths.home, fillsHome: false };

/** The home of the user is a volume, as far as the users of the system are known. */
async function describeImagePod(
  { images }: SharedResources,
  image: SandboxImage,
  basePath: string | undefined,
): Promise<ImagePod> {
  const { name, accounts, credentials, home: known } = images.find(image);
  const base = basePath === undefined ? undefined : await readImageBase(basePath);
  const users = base?.accounts ?? accounts;
  const found = users === undefined ? undefined : homeOf(image.user, users);
  const home = found !== undefined && canBeVolume(found) ? found : undefined;
  // The archive of the base has all files of its home.
  const startsEmpty = home !== base?.home;
  const homeArchive =
    startsEmpty && known?.path === home ? Buffer.from(known?.archive ?? "", "base64") : undefined;
  const fillsHome = startsEmpty && homeArchive === undefined;
  return { image: name, pullCredentials: credentials, home, fillsHome, homeArchive };
}

/** Without an enforced policy, commands would reach more than the egress proxy lets through. */
function assertNetworkEnforced({ network }: OpenOptions, { network: capability }: Capabilities): void {
  if (network === undefined || capability.enforced) return;
  throw new NotEnforceableError(
    `The environment's network mode cannot be enforced on this worker: ${capability.reason} Until then, use the network mode \`none\`.`,
  );
}
