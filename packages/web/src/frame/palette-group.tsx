import { Command } from "cmdk";
import type { LucideIcon } from "lucide-react";
import type { ReactNode } from "react";

export interface Entry {
  id: string;
  label: string;
  Icon?: LucideIcon;
  /** Replaces the icon and label. */
  shown?: ReactNode;
  run: () => void;
}

export const SERVER_RESULT = "found ";

interface PaletteGroupProps {
  heading: string;
  entries: readonly Entry[];
  /** Whether the server found these entries. If so, they are not filtered by their labels. */
  isFound?: boolean;
}

export function PaletteGroup({ heading, entries, isFound = false }: PaletteGroupProps) {
  if (entries.length === 0) return null;
  return (
    <Command.Group
      heading={heading}
      className="pb-2 [&_[cmdk-group-heading]]:px-2 [&_[cmdk-group-heading]]:py-1 [&_[cmdk-group-heading]]:text-xs [&_[cmdk-group-heading]]:text-muted"
    >
      {entries.map(({ id, label, Icon, shown, run }) => (
        <Command.Item
          key={id}
          value={isFound ? `${SERVER_RESULT}${id}` : `${heading} ${id}`}
          keywords={[label]}
          onSelect={run}
          className="flex min-h-9 cursor-pointer items-center gap-2.5 rounded-md px-2 data-[selected=true]:bg-raised"
        >
          {Icon && <Icon className="size-4 shrink-0 text-muted" aria-hidden />}
          {shown ?? <span className="min-w-0 truncate">{label}</span>}
        </Command.Item>
      ))}
    </Command.Group>
  );
}
