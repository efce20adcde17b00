import clsx from "clsx";
import { ChevronDown } from "lucide-react";
import { Popover } from "radix-ui";
import type { ReactNode } from "react";

interface FacetProps {
  label: string;
  /** The current value as text. Undefined if the filter is not set. */
  value: string | undefined;
  children: ReactNode;
}

/** Shows a filter button with its current value. */
export function Facet({ label, value, children }: FacetProps) {
  return (
    <Popover.Root>
      <Popover.Trigger
        className={clsx(
          "inline-flex h-9 shrink-0 items-center gap-1 whitespace-nowrap rounded-md border px-2.5 text-xs font-medium md:h-7 md:px-2",
          value
            ? "border-accent/50 bg-accent-soft text-accent-ink"
            : "border-line bg-surface text-muted hover:bg-raised",
        )}
      >
        {value ? `${label}:` : label}
        {value && <span className="max-w-40 truncate font-normal">{value}</span>}
        <ChevronDown className="size-3.5" aria-hidden />
      </Popover.Trigger>
      <Popover.Portal>
        <Popover.Content
          align="start"
          sideOffset={6}
          collisionPadding={8}
          aria-label={label}
          className="z-50 flex max-h-80 w-64 flex-col gap-1 overflow-y-auto rounded-lg border border-line bg-surface p-2 shadow-pop"
        >
          {children}
        </Popover.Content>
      </Popover.Portal>
    </Popover.Root>
  );
}

export interface Option {
  value: string;
  label: string;
}

interface ChoicesProps {
  options: readonly Option[];
  selected: readonly string[];
  onChange: (selected: string[]) => void;
  /** The text to show if there are no options. */
  empty?: string;
}

export function Choices({ options, selected, onChange, empty }: ChoicesProps) {
  if (options.length === 0) return <p className="px-1 py-1 text-muted">{empty}</p>;
  return options.map(({ value, label }) => (
    <label
      key={value}
      className="flex min-h-8 items-center gap-2 rounded-md px-1.5 hover:bg-raised max-md:min-h-9"
    >
      <input
        type="checkbox"
        className="size-4 shrink-0 accent-accent"
        checked={selected.includes(value)}
        onChange={({ target }) =>
          onChange(target.checked ? [...selected, value] : selected.filter((each) => each !== value))
        }
      />
      <span className="min-w-0 truncate">{label}</span>
    </label>
  ));
}

/** Summarizes the selected options. */
export function selectedLabel(options: readonly Option[], selected: readonly string[]): string | undefined {
  if (selected.length === 0) return undefined;
  const labels = selected.map((value) => options.find((option) => option.value === value)?.label ?? value);
  return labels.length > 2 ? `${labels.length} selected` : labels.join(" or ");
}
