import { type ReactNode, useId } from "react";
import { errorSentence, Select } from "../../ui/form/field.tsx";
import { InlineCode } from "../../ui/text/inline-code.tsx";

interface InlineSelectProps {
  label: string;
  value: string;
  error: string | undefined;
  onChange: (value: string) => void;
  children: ReactNode;
}

/** Shows a select below the prompt. Its label is not shown, but screen readers announce it. */
export function InlineSelect({ label, value, error, onChange, children }: InlineSelectProps) {
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
          <InlineCode text={errorSentence(label, error)} />
        </p>
      )}
    </div>
  );
}
