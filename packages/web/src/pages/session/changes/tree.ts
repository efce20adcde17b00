import type { PatchFile } from "../../../ui/diff/patch.ts";

export interface Folder {
  name: string;
  path: string;
  folders: Folder[];
  files: PatchFile[];
}

/** Builds a folder tree. A folder that contains nothing but one subfolder is merged with it. */
export function treeOf(files: readonly PatchFile[]): Folder {
  const root = newFolder("", "");
  const byPath = new Map([["", root]]);
  const folderAt = (path: string): Folder => {
    const known = byPath.get(path);
    if (known) return known;
    const cut = path.lastIndexOf("/");
    const folder = newFolder(path.slice(cut + 1), path);
    byPath.set(path, folder);
    folderAt(cut < 0 ? "" : path.slice(0, cut)).folders.push(folder);
    return folder;
  };
  for (const file of files)
    folderAt(file.path.slice(0, Math.max(0, file.path.lastIndexOf("/")))).files.push(file);
  return { ...root, folders: root.folders.map(joined) };
}

const newFolder = (name: string, path: string): Folder => ({ name, path, folders: [], files: [] });

/** Returns the files in tree order. */
export function filesIn({ folders, files }: Folder): PatchFile[] {
  return [...folders.flatMap(filesIn), ...files];
}

/** A visible row of the tree: a file or a folder. */
export type TreeRow = { depth: number } & (
  | { folder: Folder; isOpen: boolean; file?: undefined }
  | { file: PatchFile }
);

/** Returns the visible rows. Folders whose paths are in `closed` hide their content. */
export function rowsIn({ folders, files }: Folder, closed: ReadonlySet<string>, depth = 0): TreeRow[] {
  return [
    ...folders.flatMap((folder) => {
      const isOpen = !closed.has(folder.path);
      return [{ folder, isOpen, depth }, ...(isOpen ? rowsIn(folder, closed, depth + 1) : [])];
    }),
    ...files.map((file) => ({ file, depth })),
  ];
}

function joined(folder: Folder): Folder {
  const [only] = folder.folders;
  if (only && folder.folders.length === 1 && folder.files.length === 0)
    return joined({ ...only, name: `${folder.name}/${only.name}` });
  return { ...folder, folders: folder.folders.map(joined) };
}
