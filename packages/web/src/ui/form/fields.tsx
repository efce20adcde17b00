import clsx from "clsx";
import type { ComponentProps, ReactNode } from "react";
import { InlineCode } from "../text/inline-code.tsx";
import { Checkbox, errorSentence, Field, type FieldProps, Select, TextArea, TextInput } from "./field.tsx";

/** Labeled inputs, selects and text areas. `form.field(name)` provides their attributes and their error. */

type Labeled<Tag extends "input" | "select" | "textarea"> = Omit<FieldProps, "children" | "className"> &
  ComponentProps<Tag> & { fieldClassName?: string };

export function TextField({
  label,
  hint,
  error,
  optional,
  compact,
  fieldClassName,
  ...rest
}: Labeled<"input">) {
  return (
    <Field {...{ label, hint, error, optional, compact }} className={fieldClassName}>
      {(parts) => <TextInput {...parts} {...rest} />}
    </Field>
  );
}

export function TextAreaField(props: Labeled<"textarea">) {
  const { label, hint, error, optional, compact, fieldClassName, ...rest } = props;
  return (
    <Field {...{ label, hint, error, optional, compact }} className={fieldClassName}>
      {(parts) => <TextArea {...parts} {...rest} />}
    </Field>
  );
}

export function SelectField(props: Labeled<"select">) {
  const { label, hint, error, optional, compact, fieldClassName, ...rest } = props;
  return (
    <Field {...{ label, hint, error, optional, compact }} className={fieldClassName}>
      {(parts) => <Select {...parts} {...rest} />}
    </Field>
  );
}

interface CheckboxesProps<T extends string> {
  /** Names what the checkboxes select. Used in the error message. */
  label: string;
  options: readonly { value: T; label: ReactNode; hint?: ReactNode }[];
  value: readonly T[];
  error?: string | undefined;
  /** The class of each checkbox. */
  className?: string;
  onChange: (value: T[]) => void;
}

/** Shows a group of checkboxes. Its value is the list of checked options. */
export function Checkboxes<T extends string>(props: CheckboxesProps<T>) {
  const { label, options, value, error, className, onChange } = props;
  return (
    <>
      {options.map((option) => (
        <Checkbox
          key={option.value}
          label={option.label}
          hint={option.hint}
          className={clsx(className)}
          checked={value.includes(option.value)}
          aria-invalid={error ? true : undefined}
          onChange={({ target }) =>
            onChange(
              options
                .map((each) => each.value)
                .filter((each) => (each === option.value ? target.checked : value.includes(each))),
            )
          }
        />
      ))}
      {error && (
        <p className="text-xs text-bad">
          <InlineCode text={errorSentence(label, error)} />
        </p>
      )}
    </>
  );
}
