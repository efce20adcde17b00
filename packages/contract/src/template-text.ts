/**
 * Variables in the prompts of templates, written as `{{name}}`. This module does not import zod, so that pages without a
 * form load quickly.
 */

const placeholder = /\{\{\s*([A-Za-z_][A-Za-z0-9_]{0,63})\s*\}\}/g;

export const templateVariablePattern = /^[A-Za-z_][A-Za-z0-9_]{0,63}$/;

/** Returns the names of the variables in a prompt, in the order in which they first appear. */
export function templateVariables(prompt: string): string[] {
  return [...new Set(Array.from(prompt.matchAll(placeholder), (match) => match[1] as string))];
}

/** Inserts the values of variables. Variables without a value stay as they are, and values are not searched again. */
export function renderTemplate(prompt: string, values: Readonly<Record<string, string>>): string {
  return prompt.replace(placeholder, (written, name: string) =>
    Object.hasOwn(values, name) ? (values[name] as string) : written,
  );
}

interface Variable {
  name: string;
  default?: string | undefined;
  options?: string[] | undefined;
}

export interface FilledTemplate {
  /** The values with the defaults of variables that have none. */
  values: Record<string, string>;
  /** Variables that have neither a value nor a default. */
  missing: string[];
  /** Values that are not one of the variable's options. */
  invalid: string[];
  /** Values of variables that the template does not have. */
  unknown: string[];
}

/** Adds the defaults to the given values and finds what is wrong with them. */
export function fillTemplate(
  variables: readonly Variable[],
  given: Readonly<Record<string, string>>,
): FilledTemplate {
  const pairs = variables.flatMap(({ name, default: preset }) => {
    const value = Object.hasOwn(given, name) ? given[name] : preset;
    return value === undefined ? [] : [[name, value] as const];
  });
  const values = Object.fromEntries(pairs);
  const names = variables.map(({ name }) => name);
  return {
    values,
    missing: names.filter((name) => !Object.hasOwn(values, name)),
    invalid: variables
      .filter(
        ({ name, options }) => Object.hasOwn(values, name) && options?.includes(values[name] ?? "") === false,
      )
      .map(({ name }) => name),
    unknown: Object.keys(given).filter((name) => !names.includes(name)),
  };
}
