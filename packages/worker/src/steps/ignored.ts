import type { Inspection } from "./inspection.ts";

/** Those of these paths that git ignores in the repository they stand in, and all folders above them that it does. */
export async function findIgnored(inspection: Inspection, paths: string[]): Promise<Set<string>> {
  const folders = new Set(paths.flatMap(foldersAbove));
  const found = await inspection.ask("repositories", [...folders].map(inside));
  const repositories = new Set(found.map(outside));
  const asked = new Map<string, string[]>();
  for (const path of new Set([...paths, ...folders])) {
    const repository = foldersAbove(path).find((folder) => repositories.has(folder));
    if (repository === undefined || path === "") continue;
    const group = asked.get(repository) ?? [];
    group.push(path);
    asked.set(repository, group);
  }
  const ignored = new Set<string>();
  for (const [repository, group] of asked) {
    const start = repository === "" ? 0 : repository.length + 1;
    const names = group.map((path) => inside(path.slice(start)));
    const answer = await inspection.ask("ignored", [inside(repository), ...names]);
    for (const name of answer) ignored.add((start ? `${repository}/` : "") + outside(name));
  }
  return ignored;
}

/** From the nearest to the workspace itself, whose name is empty. */
export function foldersAbove(path: string): string[] {
  const folders: string[] = [];
  let folder = path;
  while (folder !== "") {
    folder = folder.slice(0, Math.max(0, folder.lastIndexOf("/")));
    folders.push(folder);
  }
  return folders;
}

/** As programs get it: no name of a file is taken for an option. */
export function inside(path: string): string {
  return `./${path}`;
}

export function outside(name: string): string {
  return name.replace(/^\.\//, "");
}
