import { quote } from "../../quote.ts";
import type { Folder } from "../repository-files.ts";
import { firstVersion, selectVersion, toolVersion } from "../versions.ts";
import { findVersion, type Project, type Toolchain } from "./toolchain.ts";

/** The releases with long-term support, the preferred one first. */
const releases = ["24", "22", "20", "18", "16"] as const;
const releaseNames: Record<string, string> = {
  krypton: "24",
  jod: "22",
  iron: "20",
  hydrogen: "18",
  gallium: "16",
};

/** Larger ones are not read, because parsing blocks the worker. */
const MAX_MANIFEST_CHARACTERS = 200_000;

interface Manifest {
  packageManager?: unknown;
  engines?: { node?: unknown };
  volta?: { node?: unknown };
}

export const node: Toolchain = {
  name: "Node.js",
  preset: "npm",
  find(folder) {
    const project = findProject(folder);
    if (!project) return undefined;
    if (project.file.startsWith("bun.lock")) {
      return { ...project, image: "oven/bun:1-debian", imageReason: `\`${project.file}\` needs Bun` };
    }
    const found = nodeVersion(folder);
    const version = found?.version ?? releases[0];
    const imageReason = found
      ? `${found.source} names Node.js ${version}`
      : `\`${project.file}\` needs Node.js, and no file names its version`;
    return { ...project, image: `node:${version}-bookworm`, imageReason };
  },
};

type Found = Pick<Project, "file" | "commands" | "notes">;

function findProject(folder: Folder): Found | undefined {
  const lock = ["package-lock.json", "npm-shrinkwrap.json"].find((name) => folder.has(name));
  const [manager, version] = packageManager(folder);
  if (folder.has("pnpm-lock.yaml")) return pnpm(manager === "pnpm" ? version : undefined, folder);
  if (folder.has("yarn.lock")) return yarn(manager === "yarn" ? version : undefined, folder);
  if (lock) return { file: lock, commands: ["npm ci"] };
  const bun = ["bun.lock", "bun.lockb"].find((name) => folder.has(name));
  if (bun) return { file: bun, commands: ["bun install --frozen-lockfile"] };
  if (!folder.has("package.json") || folder.path !== "") return undefined;
  const notes = ["The repository has no lock file for npm, so builds can install different versions."];
  return { file: "package.json", commands: ["npm install"], notes };
}

/** pnpm is installed with npm and not with Corepack, which would ignore the registry that npm is configured to use. */
function pnpm(named: string | undefined, folder: Folder): Found {
  const format = /^lockfileVersion:\s*['"]?(\d+)/m.exec(folder.text("pnpm-lock.yaml").slice(0, 1_000))?.[1];
  const version = named ?? ({ 5: "7", 6: "8" } as Record<string, string>)[format ?? ""] ?? "10";
  const commands = [`npm install --global ${quote(`pnpm@${version}`)}`, "pnpm install --frozen-lockfile"];
  return { file: "pnpm-lock.yaml", commands };
}

function yarn(named: string | undefined, folder: Folder): Found {
  const file = "yarn.lock";
  const text = folder.text(file).slice(0, 2_000);
  const settings = folder.text(".yarnrc.yml");
  const isClassic = named
    ? named.startsWith("1.")
    : /yarn lockfile v1/.test(text) || (!/__metadata:/.test(text) && settings === "");
  // The images of Node.js contain Yarn 1, which starts the release that `yarnPath` names.
  if (isClassic) return { file, commands: ["yarn install --frozen-lockfile"] };
  const install = "yarn install --immutable";
  if (/^yarnPath:/m.test(settings)) return { file, commands: [install] };
  const version = named ?? "4";
  // --force replaces the Yarn 1 of the image.
  return {
    file,
    commands: [`npm install --global --force ${quote(`@yarnpkg/cli-dist@${version}`)}`, install],
  };
}

function readManifest(folder: Folder): Manifest {
  try {
    const text = folder.text("package.json");
    const manifest: unknown = JSON.parse(text.length > MAX_MANIFEST_CHARACTERS ? "{}" : text || "{}");
    return typeof manifest === "object" && manifest !== null ? (manifest as Manifest) : {};
  } catch {
    return {};
  }
}

function packageManager(folder: Folder): [name: string | undefined, version: string | undefined] {
  const { packageManager: text } = readManifest(folder);
  const match = /^(npm|pnpm|yarn|bun)@(\d{1,3}(?:\.\d{1,3}){0,2})/.exec(typeof text === "string" ? text : "");
  return [match?.[1], match?.[2]];
}

function nodeVersion(folder: Folder) {
  const manifest = readManifest(folder);
  const asText = (value: unknown) => (typeof value === "string" ? value : "");
  const engines = asText(manifest.engines?.node);
  return findVersion(
    ["`.nvmrc`", majorOf(folder.inheritedText(".nvmrc"))],
    ["`.node-version`", majorOf(folder.inheritedText(".node-version"))],
    ["`.tool-versions`", majorOf(toolVersion(folder, "nodejs", "node") ?? "")],
    ["`volta` in package.json", majorOf(asText(manifest.volta?.node))],
    ["`engines` in package.json", engines ? selectVersion(engines, releases) : undefined],
  );
}

function majorOf(text: string): string | undefined {
  const name = /^lts\/(\w+)/.exec(text.trim())?.[1]?.toLowerCase();
  if (name) return releaseNames[name];
  const major = firstVersion(text.trim())?.split(".")[0];
  // Older releases have no image with this version of Debian.
  return major !== undefined && Number(major) >= 16 ? major : undefined;
}
