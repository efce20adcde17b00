import clsx from "clsx";
import { type ComponentProps, type ReactNode, useId } from "react";

const box =
  "w-full rounded-md border border-line-strong/60 bg-surface px-3 text-sm text-ink hover:border-line-strong disabled:opacity-60 aria-invalid:border-bad";

interface Parts {
  id: string;
  "aria-describedby": string | undefined;
  "aria-invalid": true | undefined;
}

interface FieldProps {
  label: string;
  hint?: ReactNode;
  /** What is wrong with it, and what to do. */
  error?: string | undefined;
  optional?: boolean;
  /** For fields in rows, where many stand close together. */
  compact?: boolean;
  className?: string;
  children: (parts: Parts) => ReactNode;
}

/** A labelled control; hint and error are tied to it for those who do not see them beside it. */
export function Field(props: FieldProps) {
  const { label, hint, error, optional, compact = false, className, children } = props;
  const id = useId();
  const described = clsx(hint && `${id}-hint`, error && `${id}-error`) || undefined;
  return (
    <div className={clsx("flex flex-col", compact ? "gap-1" : "gap-1.5", className)}>
      <label htmlFor={id} className={compact ? "text-xs text-muted" : "font-medium"}>
        {label}
        {optional && <span className="font-normal text-muted"> · optional</span>}
      </label>
      {children({ id, "aria-describedby": described, "aria-invalid": error ? true : undefined })}
      {hint && (
        <p id={`${id}-hint`} className="text-xs text-muted">
          {hint}
        </p>
      )}
      {error && (
        <p id={`${id}-error`} className="text-xs text-bad">
          {error}
        </p>
      )}
    </div>
  );
}

export function TextInput({ className, ...rest }: ComponentProps<"input">) {
  return <input type="text" autoComplete="off" {...rest} className={clsx(box, "h-9", className)} />;
}

export function TextArea({ className, ...rest }: ComponentProps<"textarea">) {
  return <textarea rows={3} {...rest} className={clsx(box, "min-h-16 py-2", className)} />;
}

/** The system's own list: it is right on every phone and for every reader. */
export function Select({ className, ...rest }: ComponentProps<"select">) {
  return <select {...rest} className={clsx(box, "h-9 pr-8", className)} />;
}

interface CheckboxProps extends Omit<ComponentProps<"input">, "type"> {
  label: ReactNode;
  hint?: ReactNode;
}

export function Checkbox({ label, hint, className, ...rest }: CheckboxProps) {
  return (
    <label className={clsx("flex items-start gap-2", className)}>
      <input type="checkbox" {...rest} className="mt-0.5 size-4 shrink-0 accent-accent" />
      <span>
        {label}
        {hint && <span className="block text-xs text-muted">{hint}</span>}
      </span>
    </label>
  );
}
