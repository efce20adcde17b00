import clsx from "clsx";
import { Folder as FolderIcon } from "lucide-react";
import { Counts } from "../../../ui/diff/counts.tsx";
import type { PatchFile } from "../../../ui/diff/patch.ts";
import { sanitize } from "../../../ui/text/sanitize.ts";
import type { Folder } from "./tree.ts";

interface FileTreeProps {
  folder: Folder;
  selected?: PatchFile | undefined;
  onSelect: (file: PatchFile) => void;
}

export function FileTree({ folder, selected, onSelect }: FileTreeProps) {
  return (
    <ul className="flex flex-col">
      {folder.folders.map((one) => (
        <li key={one.name}>
          <p className="flex h-8 items-center gap-1.5 px-2 text-muted">
            <FolderIcon className="size-3.5 shrink-0" aria-hidden />
            <span className="truncate" title={sanitize(one.name)}>
              {sanitize(one.name)}
            </span>
          </p>
          <div className="ml-3.5 border-l border-line pl-1">
            <FileTree folder={one} selected={selected} onSelect={onSelect} />
          </div>
        </li>
      ))}
      {folder.files.map((file) => (
        <li key={file.path}>
          <button
            type="button"
            aria-current={file === selected || undefined}
            onClick={() => onSelect(file)}
            className={clsx(
              "flex h-9 w-full items-center gap-2 rounded-md px-2 text-left hover:bg-raised sm:h-8",
              file === selected && "bg-raised font-medium",
            )}
          >
            <span
              className={clsx(
                "min-w-0 flex-1 truncate",
                file.kind === "deleted" && "line-through",
                file.kind === "created" && "text-good",
              )}
              title={sanitize(file.path)}
            >
              {sanitize(file.path.split("/").at(-1) ?? file.path)}
            </span>
            <Counts {...file} />
          </button>
        </li>
      ))}
    </ul>
  );
}
