/**
 * Proposes an environment's settings from the files of its repository, with a sentence for each that says why.
 *
 * A devcontainer.json or a Dockerfile says what the project needs, so a usable one comes first. Otherwise, the lock
 * files decide: the toolchain that is closest to the root provides the image, and installs the dependencies of its
 * projects. One image has one toolchain, so for all others the proposal only says what is missing.
 */
import type { NetworkPreset } from "@outrider/contract/environment";
import type { ProposalReason, ProposedSettings } from "@outrider/contract/proposal";
import { parseDevcontainer } from "../devcontainers/parse.ts";
import { parseDockerfile } from "../dockerfiles/parse.ts";
import { quote } from "../quote.ts";
import { listFolders, type RepositoryFiles } from "./repository-files.ts";
import { elixir } from "./toolchains/elixir.ts";
import { go } from "./toolchains/go.ts";
import { java } from "./toolchains/java.ts";
import { node } from "./toolchains/node.ts";
import { php } from "./toolchains/php.ts";
import { python } from "./toolchains/python.ts";
import { ruby } from "./toolchains/ruby.ts";
import { rust } from "./toolchains/rust.ts";
import type { Project, Toolchain } from "./toolchains/toolchain.ts";

/**
 * Ordered by precedence in the same folder. Node.js is last, because many projects in other languages use it for parts of
 * their tooling.
 */
const toolchains: Toolchain[] = [elixir, php, ruby, java, rust, go, python, node];

const MAX_PROJECTS = 5;
const MAX_SHOWN = 5;
const MAX_MESSAGE_CHARACTERS = 1_000;

export interface Proposal {
  settings: ProposedSettings;
  reasons: ProposalReason[];
}

interface FoundProject extends Project {
  toolchain: Toolchain;
  folder: string;
  /** The path of `file` in the repository. */
  path: string;
}

export function propose(files: RepositoryFiles): Proposal {
  const reasons: ProposalReason[] = [];
  const projects = findProjects(files);
  const devcontainer = findDevcontainer(files, reasons);
  const dockerfile = devcontainer ? undefined : findDockerfile(files, reasons);
  const [first] = projects;
  const chosen = projects.filter(({ toolchain }) => toolchain === first?.toolchain);
  const settings: ProposedSettings = { setup_commands: [] };
  if (devcontainer) {
    settings.devcontainer = devcontainer.path;
    reasons.push({
      field: "devcontainer",
      message: `\`${devcontainer.path}\` describes the system that the project is developed in.`,
    });
  } else if (dockerfile) {
    settings.dockerfile = { path: dockerfile.path };
    const otherwise = first ? ` Otherwise, use the image \`${first.image}\`.` : "";
    reasons.push({
      field: "dockerfile",
      message: `\`${dockerfile.path}\` describes a system for the project. Check that it contains the tools for development.${otherwise}`,
    });
  } else if (first) {
    settings.docker_image = first.image;
    reasons.push({ field: "docker_image", message: `\`${first.image}\`: ${first.imageReason}.` });
  }
  if (devcontainer?.hasCommands) {
    reasons.push({
      message: `The commands of \`${devcontainer.path}\` install the dependencies, so no setup commands are proposed.`,
    });
  } else {
    addCommands(chosen, settings, reasons);
    for (const message of first?.notes ?? []) reasons.push({ message });
  }
  const hasOwnSystem = devcontainer !== undefined || dockerfile !== undefined;
  addNetwork(hasOwnSystem ? projects : chosen, settings, reasons, dockerfile?.presets);
  if (!hasOwnSystem) addMissing(projects, chosen, reasons);
  return { settings, reasons: reasons.map(shorten) };
}

const shorten = ({ message, ...reason }: ProposalReason): ProposalReason => ({
  ...reason,
  message: message.slice(0, MAX_MESSAGE_CHARACTERS),
});

/** Finds all projects, those closest to the root first. */
function findProjects(files: RepositoryFiles): FoundProject[] {
  const depthOf = (folder: string) => (folder === "" ? 0 : folder.split("/").length);
  const projects = listFolders(files)
    .flatMap((folder) =>
      toolchains.flatMap((toolchain) => {
        const project = toolchain.find(folder);
        return project
          ? [{ ...project, toolchain, folder: folder.path, path: folder.pathOf(project.file) }]
          : [];
      }),
    )
    .sort(
      (a, b) =>
        depthOf(a.folder) - depthOf(b.folder) ||
        toolchains.indexOf(a.toolchain) - toolchains.indexOf(b.toolchain),
    );
  return projects.filter(
    ({ toolchain, folder }) =>
      !toolchain.coversFolders ||
      !projects.some((other) => other.toolchain === toolchain && isBelow(folder, other.folder)),
  );
}

const isBelow = (folder: string, parent: string) =>
  folder !== parent && (parent === "" || folder.startsWith(`${parent}/`));

function addCommands(projects: FoundProject[], settings: ProposedSettings, reasons: ProposalReason[]): void {
  // A lock file in the root usually covers the folders below it.
  const hasRoot = projects[0]?.folder === "";
  const installed = hasRoot ? projects.slice(0, 1) : projects.slice(0, MAX_PROJECTS);
  for (const { folder, path, commands } of installed) {
    const inFolder = (command: string) =>
      folder && !isGlobal(command) ? `(cd ${quote(folder)} && ${command})` : command;
    settings.setup_commands.push(
      ...commands.map(inFolder).filter((command) => !settings.setup_commands.includes(command)),
    );
    reasons.push({
      field: "setup_commands",
      message: `\`${commands.at(-1)}\` installs the dependencies in \`${path}\`.`,
    });
  }
  const others = projects.slice(installed.length);
  if (others.length > 0) {
    reasons.push({
      message: `${listPaths(others)} ${others.length === 1 ? "is" : "are"} not installed. Add a setup command if runs need the dependencies.`,
    });
  }
}

/** Commands that install a package manager do not depend on the folder. */
const isGlobal = (command: string) => /^(?:npm install --global|pip install [a-z]+$|mix local)/.test(command);

function addNetwork(
  projects: FoundProject[],
  settings: ProposedSettings,
  reasons: ProposalReason[],
  morePresets: NetworkPreset[] = [],
): void {
  const presets = [
    ...new Set([...projects.flatMap(({ toolchain }) => toolchain.preset ?? []), ...morePresets]),
  ];
  if (presets.length === 0) return;
  const allow = presets.map((preset) => `preset:${preset}`);
  settings.network = { mode: "allowlist", allow };
  const names = allow.map((entry) => `\`${entry}\``).join(" and ");
  reasons.push({
    field: "network",
    message: `${names} ${allow.length === 1 ? "allows" : "allow"} the package registries that the worker's own tools use.`,
  });
}

function addMissing(projects: FoundProject[], chosen: FoundProject[], reasons: ProposalReason[]): void {
  const image = chosen[0]?.image;
  const missing = new Set(
    projects.map(({ toolchain }) => toolchain).filter((each) => each !== chosen[0]?.toolchain),
  );
  for (const toolchain of missing) {
    const own = projects.filter((project) => project.toolchain === toolchain);
    reasons.push({
      message: `${listPaths(own)} ${own.length === 1 ? "needs" : "need"} ${toolchain.name}, which \`${image}\` does not contain: install it in a setup command, or use an image that contains both.`,
    });
  }
}

function listPaths(projects: FoundProject[]): string {
  const paths = projects.slice(0, MAX_SHOWN).map(({ path }) => `\`${path}\``);
  const more = projects.length - paths.length;
  return more > 0 ? `${paths.join(", ")} and ${more} more` : paths.join(", ");
}

interface FoundDockerfile {
  path: string;
  /** What its commands download from. */
  presets: NetworkPreset[];
}

/** Finds a Dockerfile for development. The last of several stages usually contains only what production needs. */
function findDockerfile(
  { paths, texts }: RepositoryFiles,
  reasons: ProposalReason[],
): FoundDockerfile | undefined {
  const path = ["Dockerfile.dev", "Dockerfile"].find((each) => paths.includes(each));
  if (path === undefined) return undefined;
  const text = texts.get(path) ?? "";
  try {
    const { stages } = parseDockerfile(text, { path });
    if (stages.length === 1 || path === "Dockerfile.dev")
      return { path, presets: /\bapt(?:-get)? /.test(text) ? ["debian"] : [] };
    reasons.push({
      message: `\`${path}\` has several stages, so its last one is probably made for production. To use a stage of it, set \`dockerfile\`.`,
    });
  } catch (error) {
    reasons.push({ message: `The Dockerfile cannot be used. ${(error as Error).message}` });
  }
  return undefined;
}

function findDevcontainer(
  { paths, texts }: RepositoryFiles,
  reasons: ProposalReason[],
): { path: string; hasCommands: boolean } | undefined {
  const known = [".devcontainer/devcontainer.json", ".devcontainer.json"];
  const nested = paths.filter((path) => /^\.devcontainer\/[^/]+\/devcontainer\.json$/.test(path));
  const path = known.find((each) => paths.includes(each)) ?? (nested.length === 1 ? nested[0] : undefined);
  if (path === undefined) {
    if (nested.length > 1)
      reasons.push({
        message: `The repository has several devcontainers. To use one, set \`devcontainer\` to its path, such as \`${nested[0]}\`.`,
      });
    return undefined;
  }
  try {
    const options = { path, blobId: "0".repeat(40), workspaceFolder: "/workspace/repository" };
    const { setupCommands } = parseDevcontainer(texts.get(path) ?? "", options);
    return { path, hasCommands: setupCommands.length > 0 };
  } catch (error) {
    reasons.push({ message: `The devcontainer cannot be used. ${(error as Error).message}` });
    return undefined;
  }
}
