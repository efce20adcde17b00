/**
 * The files of a repository that proposals are derived from. Only the names of most of them matter. The repository is
 * untrusted, so their number, depth and size are limited.
 */

/** How many folders below the root are searched. */
export const MAX_DEPTH = 3;
/** Generated files, such as lock files of large repositories, can be larger. They are then treated as empty. */
export const MAX_TEXT_BYTES = 2 * 2 ** 20;
export const MAX_FILES = 300;
const MAX_PATH_CHARACTERS = 200;

export interface RepositoryFiles {
  /** The relevant files, sorted by depth. */
  paths: readonly string[];
  /** The text of those whose content matters and that are not too large. */
  texts: ReadonlyMap<string, string>;
}

const namesOnly = [
  "package-lock.json",
  "npm-shrinkwrap.json",
  "bun.lock",
  "bun.lockb",
  "requirements.txt",
  "poetry.lock",
  "uv.lock",
  "Pipfile.lock",
  "go.sum",
  "Cargo.toml",
  "Cargo.lock",
  "build.gradle",
  "build.gradle.kts",
  "settings.gradle",
  "settings.gradle.kts",
  "composer.lock",
  "mix.lock",
];

const withText = [
  "package.json",
  "pnpm-lock.yaml",
  "yarn.lock",
  ".yarnrc.yml",
  ".nvmrc",
  ".node-version",
  ".tool-versions",
  "pyproject.toml",
  "Pipfile",
  ".python-version",
  "runtime.txt",
  "go.mod",
  "rust-toolchain",
  "rust-toolchain.toml",
  "pom.xml",
  "gradle-wrapper.properties",
  "Gemfile.lock",
  ".ruby-version",
  "devcontainer.json",
  ".devcontainer.json",
  "Dockerfile",
  "Dockerfile.dev",
];

const listed = new Set([...namesOnly, ...withText]);
const readable = new Set(withText);

/** Folders whose lock files belong to dependencies, examples or tests. */
const skippedFolders =
  /^(?:node_modules|vendor|third_party|dist|build|out|target|testdata|test|tests|fixtures|__fixtures__|__tests__|examples?|samples?|templates?)$/;

const nameOf = (path: string) => path.slice(path.lastIndexOf("/") + 1);
const depthOf = (path: string) => path.split("/").length - 1;

/** Returns whether folders with this name are searched. */
export function isSearched(folderName: string): boolean {
  if (skippedFolders.test(folderName)) return false;
  return !folderName.startsWith(".") || folderName === ".devcontainer";
}

/** Returns whether a file matters for proposals. */
export function isRelevant(path: string): boolean {
  if (!listed.has(nameOf(path)) || path.length > MAX_PATH_CHARACTERS || /\p{Cc}/u.test(path)) return false;
  return depthOf(path) <= MAX_DEPTH && path.split("/").slice(0, -1).every(isSearched);
}

/** Returns whether the content of a file matters, and not only its name. */
export function needsText(path: string): boolean {
  return isRelevant(path) && readable.has(nameOf(path));
}

/** Sorts paths by depth and name, and limits their number. */
export function selectFiles(paths: string[]): string[] {
  return paths
    .filter(isRelevant)
    .sort((a, b) => depthOf(a) - depthOf(b) || (a < b ? -1 : 1))
    .slice(0, MAX_FILES);
}

/** One folder of a repository, as toolchains see it. */
export class Folder {
  /** Empty for the root. */
  readonly path: string;
  readonly #files: RepositoryFiles;
  readonly #paths: ReadonlySet<string>;

  constructor(files: RepositoryFiles, path: string) {
    this.path = path;
    this.#files = files;
    this.#paths = new Set(files.paths);
  }

  has(name: string): boolean {
    return this.#paths.has(this.pathOf(name));
  }

  /** Returns the text of a file, or an empty string. */
  text(name: string): string {
    return this.#files.texts.get(this.pathOf(name)) ?? "";
  }

  /**
   * Returns the text of a file in this folder, or otherwise in the root. Version files in the root apply to all
   * folders.
   */
  inheritedText(name: string): string {
    return this.text(name) || (this.#files.texts.get(name) ?? "");
  }

  pathOf(name: string): string {
    return this.path ? `${this.path}/${name}` : name;
  }
}

/** Returns the folders that contain relevant files, the root first. */
export function listFolders(files: RepositoryFiles): Folder[] {
  const paths = new Set(files.paths.map((path) => path.slice(0, Math.max(0, path.lastIndexOf("/")))));
  return [...paths].map((path) => new Folder(files, path));
}
