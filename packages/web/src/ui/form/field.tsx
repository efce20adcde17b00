import clsx from "clsx";
import { type ComponentProps, type ReactNode, useId } from "react";
import { InlineCode } from "../text/inline-code.tsx";
import { controlBox } from "./control-box.ts";
import { Listbox } from "./listbox.tsx";

interface Parts {
  id: string;
  "aria-describedby": string | undefined;
  "aria-invalid": true | undefined;
}

export interface FieldProps {
  label: string;
  hint?: ReactNode;
  /** The error, phrased to follow the label, such as "must be a number". */
  error?: string | undefined;
  optional?: boolean | undefined;
  /** Uses a smaller label, for fields in rows. */
  compact?: boolean | undefined;
  className?: string | undefined;
  children: (parts: Parts) => ReactNode;
}

/** Shows a labeled control. The hint and the error are linked to it for screen readers. */
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
          <InlineCode text={errorSentence(label, error)} />
        </p>
      )}
    </div>
  );
}

/** Combines a label and its error into a sentence. Omits the unit in parentheses at the end of the label. */
export function errorSentence(label: string, message: string): string {
  return `${label.replace(/ \([^)]*\)$/, "")} ${message}.`;
}

export function TextInput({ className, ...rest }: ComponentProps<"input">) {
  return <input type="text" autoComplete="off" {...rest} className={clsx(controlBox, "h-9", className)} />;
}

export function TextArea({ className, ...rest }: ComponentProps<"textarea">) {
  return <textarea rows={3} {...rest} className={clsx(controlBox, "min-h-16 py-2", className)} />;
}

/** Takes the attributes and `option` children of a native select. */
export function Select(props: ComponentProps<"select">) {
  return <Listbox {...props} />;
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
