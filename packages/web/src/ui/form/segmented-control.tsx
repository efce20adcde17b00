import clsx from "clsx";
import type { ReactNode } from "react";

interface SegmentedControlProps<T extends string> {
  /** The label for screen readers. It is not shown. */
  label: string;
  value: T;
  options: { value: T; label: ReactNode }[];
  onChange: (value: T) => void;
  small?: boolean;
}

/** Shows a row of options, one of which is selected. */
export function SegmentedControl<T extends string>({
  label,
  value,
  options,
  onChange,
  small = false,
}: SegmentedControlProps<T>) {
  return (
    <fieldset className="flex w-fit flex-wrap rounded-md border border-line bg-raised p-0.5">
      <legend className="sr-only">{label}</legend>
      {options.map((option) => (
        <button
          key={option.value}
          type="button"
          aria-pressed={option.value === value}
          onClick={() => onChange(option.value)}
          className={clsx(
            "rounded font-medium",
            small ? "h-6 px-2 text-xs" : "h-8 px-3 max-md:h-9",
            option.value === value ? "bg-surface text-ink shadow-sm" : "text-muted hover:text-ink",
          )}
        >
          {option.label}
        </button>
      ))}
    </fieldset>
  );
}
