import { execFileSync } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { silentLog } from "@outrider/worker/log";
import { explainBuildKitProblem } from "@outrider/worker/sandboxes/buildkit-support";
import {
  openChosenProvider,
  parseSandboxChoice,
  type SandboxChoice,
} from "@outrider/worker/sandboxes/choose-provider";
import type { Capability } from "@outrider/worker/sandboxes/limits";
import type { SandboxKind } from "@outrider/worker/sandboxes/open-provider";
import type { ImageSource, SandboxEngine, SandboxProvider } from "@outrider/worker/sandboxes/sandbox";
import { readDockerSettings, readKubernetesSettings } from "../sandbox-options.ts";
import { clusterFindings, registryFindings } from "./cluster.ts";
import { type Finding, fail, ok, warn } from "./finding.ts";

/** Checks that this machine has everything that a worker needs. */
export async function machineFindings(): Promise<Finding[]> {
  return [
    checkProgram("git", "repositories"),
    checkProgram("ssh", "repositories over ssh"),
    ...(await checkSandboxes()),
  ];
}

function checkProgram(name: string, purpose: string): Finding {
  try {
    const flag = name === "ssh" ? "-V" : "--version";
    execFileSync(name, [flag], { stdio: "ignore" });
    return ok(name, `found; required for ${purpose}`);
  } catch {
    return warn(name, `not found; required for ${purpose}`, `install ${name}`);
  }
}

function imageFindings({ images, kind }: TriedProvider): Finding[] {
  if (!images) return [];
  const { ids, problem } = images;
  const remedy =
    kind === "kubernetes" ? requirementsOf(kind) : 'see "Images without root" in docs/running.md';
  if (problem !== undefined) return [warn("images", `not available: ${problem}`, remedy)];
  if (ids.enforced) return [ok("images", `work; each sandbox has its own user ids by ${ids.by}`)];
  return [warn("images", `work. ${ids.reason}`, remedy)];
}

/** If BuildKit was chosen, `controls` says what its commands do not obey. */
function dockerfileFindings({ kind, engine, title, controls }: TriedProvider): Finding[] {
  if (kind !== "docker" || !engine || controls.some(([name]) => name === "dockerfiles")) return [];
  const { engine: name, runtime } = engine;
  const isAvailable = explainBuildKitProblem({ engine: name, title, runtime }) === undefined;
  const other = "; BuildKit is faster and available, if you trust all Dockerfiles: see docs/docker.md";
  return [ok("dockerfiles", `executed in sandboxes${isAvailable ? other : ""}`)];
}

interface TriedProvider {
  kind: SandboxKind;
  /** Why it does not work here. */
  problem?: string;
  /** The provider's own description, such as `local` or `docker (Podman 5.4.0, crun)`. */
  title: string;
  controls: [name: string, capability: Capability][];
  images?: ImageSource | undefined;
  engine?: SandboxEngine | undefined;
}

/**
 * Checks each kind of sandbox. Only the kind that a worker with these settings uses can fail the check; the others are
 * reported so that operators know what else they can choose. A cluster is only tried if the settings name it.
 */
async function checkSandboxes(): Promise<Finding[]> {
  let choice: SandboxChoice;
  try {
    choice = parseSandboxChoice(process.env.OUTRIDER_SANDBOX || "auto", "OUTRIDER_SANDBOX");
  } catch (error) {
    return [fail("sandbox", "not checked", (error as Error).message)];
  }
  const local = await tryProvider("local");
  const docker = await tryProvider("docker");
  const { systemImage } = readKubernetesSettings({}, process.env);
  const isClusterSet = choice === "kubernetes" || systemImage !== undefined;
  const kubernetes = isClusterSet ? [await tryProvider("kubernetes")] : [];
  const isDockerUsed =
    choice === "docker" || (choice === "auto" && local.problem !== undefined && docker.problem === undefined);
  const all = [...(isDockerUsed ? [docker, local] : [local, docker]), ...kubernetes];
  const used = all.find(({ kind }) => kind === choice) ?? (all[0] as TriedProvider);
  const others = all.filter((tried) => tried !== used);
  // With `auto`, either of the first two can be made to work.
  const either = choice === "auto" && used.problem !== undefined ? others.slice(0, 1) : [];
  const remedy = [used, ...either].map(({ problem }) => problem).join(" ");
  return [
    ...(used.kind === "kubernetes" ? await kubernetesFindings() : []),
    used.problem === undefined
      ? ok("sandbox", `works: ${used.title}`)
      : fail("sandbox", "failed to start", remedy),
    ...used.controls.map(([name, capability]) =>
      capability.enforced
        ? ok(name, `enforced by ${capability.by}`)
        : warn(name, `not enforced: ${capability.reason}`, requirementsOf(used.kind)),
    ),
    ...dockerfileFindings(used),
    ...imageFindings(used),
    ...others
      .filter((other) => !either.includes(other))
      .map((other) => ok(other.kind, describeOther(other, used.problem === undefined))),
  ];
}

async function kubernetesFindings(): Promise<Finding[]> {
  const settings = readKubernetesSettings({}, process.env);
  return [...(await clusterFindings(settings)), ...(await registryFindings(settings, process.env))];
}

const requirementsOf = (kind: SandboxKind) =>
  `see docs/${kind === "local" ? "running" : kind}.md for the requirements`;

function describeOther({ kind, problem, title, controls }: TriedProvider, isUsedWorking: boolean): string {
  if (problem !== undefined) return `not available, and not used by these settings. ${problem}`;
  const namesOf = (isEnforced: boolean) =>
    controls.filter(([, { enforced }]) => enforced === isEnforced).map(([name]) => name);
  const missing = controls.flatMap(([name, capability]) =>
    capability.enforced ? [] : [`${name} (${capability.reason})`],
  );
  const works = [isUsedWorking ? "also works" : "works", ...(title === kind ? [] : [title])].join(": ");
  return `${works}. Enforces ${namesOf(true).join(", ")}${missing.length > 0 ? `; not ${missing.join(", ")}` : ""}`;
}

/** Starts a sandbox, because this is the only reliable way to find out what the kernel or the engine allows. */
async function tryProvider(kind: SandboxKind): Promise<TriedProvider> {
  const root = mkdtempSync(join(tmpdir(), "outrider-doctor-"));
  // If the command runs as root, the sandbox's unprivileged user must be able to enter the directory.
  chmodSync(root, 0o711);
  try {
    const docker = readDockerSettings({}, process.env);
    const kubernetes = readKubernetesSettings({}, process.env);
    const provider = await openChosenProvider(kind, {
      ...{ docker, kubernetes, root, isTemporary: true, log: silentLog },
    });
    const tried: TriedProvider = {
      kind,
      title: describeProvider(provider),
      controls: Object.entries(provider.capabilities()),
      images: provider.images,
      engine: provider.describe?.(),
    };
    await provider.stop();
    return tried;
  } catch (error) {
    return { kind, title: kind, controls: [], problem: (error as Error).message };
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

function describeProvider(provider: SandboxProvider): string {
  const engine = provider.describe?.();
  if (!engine) return provider.kind;
  const { engine: name, engine_version, runtime } = engine;
  return `${provider.kind} (${name} ${engine_version}${runtime ? `, runtime ${runtime}` : ""})`;
}
