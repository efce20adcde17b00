import { type ReactNode, useId } from "react";
import { Select } from "../../ui/field.tsx";

interface ChoiceProps {
  label: string;
  value: string;
  error: string | undefined;
  onChange: (value: string) => void;
  children: ReactNode;
}

/** A list beside the prompt: its value says what it is, so its label is only spoken. */
export function Choice({ label, value, error, onChange, children }: ChoiceProps) {
  const id = useId();
  return (
    <div className="min-w-0 max-sm:w-full sm:max-w-64">
      <Select
        aria-label={label}
        title={label}
        value={value}
        aria-invalid={error ? true : undefined}
        aria-describedby={error ? id : undefined}
        onChange={({ target }) => onChange(target.value)}
        className="truncate"
      >
        {children}
      </Select>
      {error && (
        <p id={id} className="mt-1 text-xs text-bad">
          {error}
        </p>
      )}
    </div>
  );
}
