import { Columns3 } from "lucide-react";
import { Popover } from "radix-ui";
import { buttonClass } from "../../ui/button.tsx";
import { type Column, columns } from "./columns.tsx";

interface ColumnChooserProps {
  shown: readonly Column[];
  onToggle: (id: string) => void;
}

export function ColumnChooser({ shown, onToggle }: ColumnChooserProps) {
  return (
    <Popover.Root>
      <Popover.Trigger className={`${buttonClass()} max-md:hidden ml-auto`}>
        <Columns3 className="size-4" aria-hidden />
        Columns
      </Popover.Trigger>
      <Popover.Portal>
        <Popover.Content
          align="end"
          sideOffset={6}
          aria-label="Columns"
          className="z-50 flex w-52 flex-col rounded-lg border border-line bg-surface p-2 shadow-pop"
        >
          {columns
            .filter(({ id }) => id !== "title")
            .map(({ id, label }) => (
              <label key={id} className="flex h-8 items-center gap-2 rounded-md px-1.5 hover:bg-raised">
                <input
                  type="checkbox"
                  className="size-4 accent-accent"
                  checked={shown.some((column) => column.id === id)}
                  onChange={() => onToggle(id)}
                />
                {label}
              </label>
            ))}
        </Popover.Content>
      </Popover.Portal>
    </Popover.Root>
  );
}
