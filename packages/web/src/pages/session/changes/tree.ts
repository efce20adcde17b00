import type { PatchFile } from "../../../ui/diff/patch.ts";

export interface Folder {
  name: string;
  folders: Folder[];
  files: PatchFile[];
}

/** Builds a folder tree. A folder that contains nothing but one subfolder is merged with it. */
export function treeOf(files: readonly PatchFile[]): Folder {
  const root: Folder = { name: "", folders: [], files: [] };
  for (const file of files) {
    let folder = root;
    for (const name of file.path.split("/").slice(0, -1)) {
      let next = folder.folders.find((one) => one.name === name);
      if (!next) {
        next = { name, folders: [], files: [] };
        folder.folders.push(next);
      }
      folder = next;
    }
    folder.files.push(file);
  }
  return { ...root, folders: root.folders.map(joined) };
}

/** Returns the files in tree order. */
export function filesIn({ folders, files }: Folder): PatchFile[] {
  return [...folders.flatMap(filesIn), ...files];
}

function joined(folder: Folder): Folder {
  const [only] = folder.folders;
  if (only && folder.folders.length === 1 && folder.files.length === 0)
    return joined({ ...only, name: `${folder.name}/${only.name}` });
  return { ...folder, folders: folder.folders.map(joined) };
}
