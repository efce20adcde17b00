import type { Inspection } from "./inspection.ts";

/** Returns which of the paths and their parent folders git ignores in the repository that contains them. */
export async function findIgnored(inspection: Inspection, paths: string[]): Promise<Set<string>> {
  const folders = new Set(paths.flatMap(parentFolders));
  const found = await inspection.run("repositories", [...folders].map(toArgument));
  const repositories = new Set(found.map(fromArgument));
  const byRepository = new Map<string, string[]>();
  for (const path of new Set([...paths, ...folders])) {
    const repository = parentFolders(path).find((folder) => repositories.has(folder));
    if (repository === undefined || path === "") continue;
    const group = byRepository.get(repository) ?? [];
    group.push(path);
    byRepository.set(repository, group);
  }
  const ignored = new Set<string>();
  for (const [repository, group] of byRepository) {
    const start = repository === "" ? 0 : repository.length + 1;
    const args = group.map((path) => toArgument(path.slice(start)));
    const names = await inspection.run("ignored", [toArgument(repository), ...args]);
    for (const name of names) ignored.add((start ? `${repository}/` : "") + fromArgument(name));
  }
  return ignored;
}

/** Lists the folders above a path, nearest first. The last one is the workspace itself, as an empty string. */
export function parentFolders(path: string): string[] {
  const folders: string[] = [];
  let folder = path;
  while (folder !== "") {
    folder = folder.slice(0, Math.max(0, folder.lastIndexOf("/")));
    folders.push(folder);
  }
  return folders;
}

/** Converts a path to a program argument that cannot be mistaken for an option. */
export function toArgument(path: string): string {
  return `./${path}`;
}

export function fromArgument(name: string): string {
  return name.replace(/^\.\//, "");
}
