import { type FieldError, validate } from "@outrider/contract/errors/field-error";
import { APIStatusError } from "@outrider/sdk";
import { useMutation } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import {
  type DefaultValues,
  type FieldErrors,
  type FieldValues,
  get,
  type Path,
  type PathValue,
  type Resolver,
  set,
  useForm,
} from "react-hook-form";
import { focusFirstError } from "./focus-first-error.ts";
import { placeErrors } from "./place-errors.ts";

interface RequestFormOptions<Values extends FieldValues, Request, Result> {
  /** The contract's request schema, which the server uses for validation too. */
  schema: Parameters<typeof validate>[0];
  /** The initial values. Empty fields are undefined. */
  values: Values;
  /** Builds the request, if its shape differs from that of the form's values. */
  requestOf?: (values: Values) => unknown;
  /** Returns the path of the field for a path in the request, if the two differ. */
  fieldOf?: (path: string[], values: Values) => string[];
  /** Finds errors that the schema cannot find. */
  check?: (values: Values) => FieldError[];
  send: (request: Request) => Promise<Result>;
  onSent: (result: Result) => unknown;
  /** Called if the request fails, after its errors have been assigned to fields. */
  onError?: (error: unknown) => void;
}

export type RequestForm<Values extends FieldValues> = Pick<
  ReturnType<typeof useRequestForm<Values, unknown, unknown>>,
  "field" | "select" | "bind" | "watch" | "control" | "getValues" | "setValue"
>;

/**
 * Manages a form that sends one request. The browser and the server validate the request with the same schema, so both
 * report errors in the same way: a JSON pointer, and a message that is phrased to follow the field's name. Each error
 * is shown at its field, or at the nearest enclosing one, and the first invalid field receives the focus.
 */
export function useRequestForm<Values extends FieldValues, Request, Result>(
  options: RequestFormOptions<Values, Request, Result>,
) {
  const { schema, requestOf = (values) => values, fieldOf = (path) => path, check = () => [] } = options;
  const element = useRef<HTMLFormElement>(null);
  const names = useRef(new Set<string>());
  const [error, setError] = useState<unknown>();
  // This is a mutation, so that the banner is refreshed if maintenance mode rejects the request.
  const { mutateAsync } = useMutation({ mutationFn: options.send });

  const resolver: Resolver<Values, unknown, Request> = (values) => {
    const result = validate(schema, requestOf(values), "body");
    const found = [...check(values), ...("errors" in result ? result.errors : [])];
    // The contract's types allow undefined members, which are not sent.
    if ("data" in result && found.length === 0) return { values: result.data as Request, errors: {} };
    const { placed, unplaced } = placeErrors(found, names.current, (path) => fieldOf(path, values));
    const errors: FieldErrors<Values> = {};
    for (const { name, message } of placed) set(errors, name, { type: "contract", message });
    if (unplaced.length > 0) set(errors, "root", { type: "contract", message: unplaced.join(" ") });
    return { values: {}, errors };
  };
  const form = useForm<Values, unknown, Request>({
    defaultValues: options.values as DefaultValues<Values>,
    resolver,
    shouldFocusError: false,
  });
  const { errors, isSubmitting, isDirty, submitCount } = form.formState;

  const forgetError = () => setError(undefined);
  const submit = form.handleSubmit(async (request) => {
    forgetError();
    const sent = await mutateAsync(request).then(
      (result) => ({ result }),
      (reason: unknown) => ({ reason }),
    );
    if ("result" in sent) return options.onSent(sent.result);
    const { reason } = sent;
    const all = (reason instanceof APIStatusError && reason.errors) || [];
    const { placed, unplaced } = placeErrors(all, names.current, (path) => fieldOf(path, form.getValues()));
    for (const { name, message } of placed) form.setError(name as Path<Values>, { type: "server", message });
    // The alert shows errors that no field can show.
    if (placed.length === 0 || unplaced.length > 0) setError(reason);
    options.onError?.(reason);
  }, forgetError);

  useEffect(() => {
    if (submitCount > 0) focusFirstError(element.current);
  }, [submitCount]);

  const messageAt = (name: Path<Values>): string | undefined => {
    names.current.add(name);
    return (get(errors, name) as { message?: string } | undefined)?.message;
  };
  /** Returns the attributes of an input. `parse` turns its text into the value that the request contains. */
  const field = (name: Path<Values>, parse: (text: string) => unknown = parseText) => ({
    ...form.register(name, { setValueAs: (value) => (typeof value === "string" ? parse(value) : value) }),
    error: messageAt(name),
  });
  return {
    ...form,
    /** The attributes of the form element. */
    attributes: { ref: element, noValidate: true, onSubmit: submit },
    submit,
    errors,
    /** The reason why the request failed, unless the fields show it. */
    error,
    isBusy: isSubmitting,
    isDirty,
    field,
    /** Returns the attributes of a select. It is controlled, because its options may change after the first render. */
    select: (name: Path<Values>) => ({
      ...field(name),
      value: (form.watch(name) as string | undefined) ?? "",
    }),
    /** Returns the value of a field that is not a single input, a function that changes it, and its error. */
    bind: <Name extends Path<Values>>(name: Name) => {
      form.register(name);
      return {
        value: form.watch(name),
        error: messageAt(name),
        onChange: (value: PathValue<Values, Name>) =>
          form.setValue(name, value, { shouldDirty: true, shouldValidate: submitCount > 0 }),
      };
    },
  };
}

/** Parses the text of most fields. The text is trimmed, and an empty field is omitted from the request. */
function parseText(text: string): string | undefined {
  return text.trim() || undefined;
}

/** Parses a number. The schema rejects the result if the text is not a number. */
export function parseNumber(text: string): number | undefined {
  return text.trim() ? Number(text) : undefined;
}

/** Preserves surrounding spaces, for passwords and other values in which they are significant. */
export function parseVerbatim(text: string): string | undefined {
  return text || undefined;
}
