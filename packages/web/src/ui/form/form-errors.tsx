import { CircleAlert } from "lucide-react";
import { ErrorAlert } from "../feedback/error-alert.tsx";
import { InlineCode } from "../text/inline-code.tsx";

interface FormErrorsProps {
  form: { error: unknown; errors: object };
  /** Hides the summary visually in short forms where every field is in view. Screen readers still announce it. */
  visuallyHidden?: boolean;
}

/** Counts the invalid fields, and shows errors that belong to no field. */
export function FormErrors({ form: { error, errors }, visuallyHidden }: FormErrorsProps) {
  const { root, ...fields } = errors as Errors;
  const count = countErrors(fields);
  const message = typeof root === "object" ? (root.message as string) : undefined;
  if (error != null) return <ErrorAlert error={error} />;
  if (count === 0 && !message) return null;
  return (
    <div
      role="alert"
      className={
        visuallyHidden && !message
          ? "sr-only"
          : "flex items-start gap-3 rounded-lg border border-bad/40 bg-bad-soft p-4"
      }
    >
      <CircleAlert className="mt-0.5 size-4 shrink-0 text-bad" aria-hidden />
      <div className="min-w-0 flex-1">
        {count > 0 && (
          <p className="font-medium">
            {count === 1 ? "1 field needs attention" : `${count} fields need attention`}
          </p>
        )}
        {message && (
          <p className="break-words">
            <InlineCode text={message} />
          </p>
        )}
      </div>
    </div>
  );
}

interface Errors {
  [name: string]: Errors | string | undefined;
}

/** Counts the errors in the form library's nested object, in which only errors have a message. */
function countErrors(errors: Errors): number {
  return Object.values(errors).reduce((sum, each) => {
    if (typeof each !== "object") return sum;
    return sum + (typeof each.message === "string" ? 1 : countErrors(each));
  }, 0);
}
