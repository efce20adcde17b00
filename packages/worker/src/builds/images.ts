import { Failure } from "@outrider/agent/failure";
import type { BuildDevcontainer } from "@outrider/contract/devcontainer";
import type { ResolvedImage } from "@outrider/contract/image";
import type { AssignedEnvironment } from "@outrider/contract/worker/environment";
import { containerVariables } from "../devcontainers/read.ts";
import { ImageError } from "../images/image-error.ts";
import { defaultPath, sandboxPaths } from "../sandboxes/paths.ts";
import type {
  ImageSource,
  PullReports,
  Sandbox,
  SandboxImage,
  SandboxProvider,
} from "../sandboxes/sandbox.ts";
import type { OnStep, StepLog } from "./step-runner.ts";

const OWNER_MS = 30 * 60_000;

interface ResolveOptions {
  environment: AssignedEnvironment;
  /** Names the image if the environment does not. */
  devcontainer: { image?: string | undefined } | undefined;
  signal: AbortSignal;
}

/** Returns an environment's image with the digest that its reference points to now, or undefined if it has none. */
export async function resolveImage(
  provider: SandboxProvider,
  { environment, devcontainer, signal }: ResolveOptions,
): Promise<ResolvedImage | undefined> {
  const reference = devcontainer?.image ?? environment.docker_image;
  return reference === undefined ? undefined : resolveReference(provider, reference, { environment, signal });
}

/** Returns an image with the digest that its reference points to now. */
export async function resolveReference(
  provider: SandboxProvider,
  reference: string,
  { environment, signal }: Pick<ResolveOptions, "environment" | "signal">,
): Promise<ResolvedImage> {
  const credentials = credentialsOf(environment);
  const digest = await explain(() => imagesOf(provider).resolve(reference, { credentials, signal }));
  return { reference, digest };
}

interface EnsureOptions extends PullReports {
  environment: AssignedEnvironment;
  devcontainer: BuildDevcontainer | undefined;
  signal: AbortSignal;
}

/** Makes an image available on this worker, as the runs of a build use it. */
export async function ensureImage(
  provider: SandboxProvider,
  image: ResolvedImage,
  { devcontainer, ...options }: EnsureOptions,
): Promise<SandboxImage> {
  return imageForRuns(await ensurePlainImage(provider, image, options), options.environment, devcontainer);
}

async function ensurePlainImage(
  provider: SandboxProvider,
  image: ResolvedImage,
  { environment, ...rest }: Omit<EnsureOptions, "devcontainer">,
): Promise<SandboxImage> {
  const credentials = credentialsOf(environment);
  const secretName = environment.docker_image_secret;
  return await explain(() => imagesOf(provider).pull(image, { credentials, secretName, ...rest }));
}

/** Applies the variables, the user and the folder of the Dockerfile, the devcontainer.json and the environment. */
export function imageForRuns(
  image: SandboxImage,
  environment: AssignedEnvironment,
  devcontainer: BuildDevcontainer | undefined,
): SandboxImage {
  const built = devcontainer?.dockerfile;
  const env = { ...image.env, ...built?.env };
  const added = devcontainer && containerVariables(devcontainer, { PATH: defaultPath, ...env });
  return {
    ...image,
    env: { ...env, ...added },
    user: environment.user ?? devcontainer?.user ?? built?.user ?? image.user,
    workingFolder: built ? built.working_folder : image.workingFolder,
  };
}

/** Makes an image available on this worker, as a step of a build. */
export async function pullImage(
  provider: SandboxProvider,
  options: Pick<EnsureOptions, "environment"> & {
    image: ResolvedImage;
    log: StepLog;
    onStep: OnStep;
  },
): Promise<SandboxImage> {
  const { image, environment, log, onStep } = options;
  const name = `pull ${image.reference}`;
  const startedAt = performance.now();
  let downloadedBytes: number | undefined;
  const report = (state: "started" | "finished" | "failed") => {
    const duration = state === "started" ? {} : { duration_ms: performance.now() - startedAt };
    const size = state === "finished" && downloadedBytes ? { size_bytes: downloadedBytes } : {};
    log.write({ type: "step", data: { name, state, ...duration, ...size } });
    onStep(name, state);
  };
  const write = (text: string) =>
    log.write({ type: "output", data: { stream: "stdout", text: `${text}\n` } });
  report("started");
  write(`Digest: ${image.digest}`);
  try {
    const pulled = await ensurePlainImage(provider, image, {
      ...{ environment, signal: log.signal, onProgress: write },
      onDownloaded: (bytes) => {
        downloadedBytes = bytes;
      },
    });
    report("finished");
    return pulled;
  } catch (error) {
    report("failed");
    throw error;
  }
}

/** Only files with another owner are touched, because a change would copy a file of the build. */
const ownerScript = `
for folder in ${sandboxPaths.workspace}/ ${sandboxPaths.home}/; do
  read -r uid gid < <(stat -Lc "%u %g" "$folder")
  ((uid == 0)) || find "$folder" ! -uid "$uid" -exec chown -h "$uid:$gid" {} + || exit
done
`;

/** Gives the workspace and the home to the image's user. Checkouts and setup commands run as root. */
export async function giveFilesToUser(sandbox: Sandbox, signal: AbortSignal): Promise<void> {
  const { exitCode } = await sandbox.exec(ownerScript, {
    ...{ signal, timeoutMs: OWNER_MS, withWorkerPrograms: true, asRoot: true },
    onOutput: () => {},
  });
  if (exitCode !== 0)
    throw new Failure("environment_setup_failed", "Cannot give the files to the image's user.");
}

function imagesOf({ images }: SandboxProvider): ImageSource {
  if (images) return images;
  throw new Failure("environment_setup_failed", "This worker's kind of sandbox cannot use images.");
}

function credentialsOf({ docker_image_secret, credentials }: AssignedEnvironment): string | undefined {
  return docker_image_secret === undefined ? undefined : credentials[docker_image_secret];
}

async function explain<T>(action: () => Promise<T>): Promise<T> {
  try {
    return await action();
  } catch (error) {
    if (!(error instanceof ImageError)) throw error;
    const code = error.code === "unreachable" ? "registry_unreachable" : "environment_setup_failed";
    throw new Failure(code, `${error.message} ${error.remedy}`);
  }
}
