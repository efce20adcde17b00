import type { FieldError } from "@outrider/contract/errors/field-error";

interface Placement {
  placed: { name: string; message: string }[];
  /** The errors that no field can show, as sentences. */
  unplaced: string[];
}

/**
 * Assigns each error to the field at its pointer or, if there is none, to the nearest enclosing field. `fieldOf`
 * returns the path of the field for a path in the request.
 */
export function placeErrors(
  errors: readonly FieldError[],
  names: ReadonlySet<string>,
  fieldOf: (path: string[]) => string[],
): Placement {
  const placement: Placement = { placed: [], unplaced: [] };
  for (const { pointer, message } of errors) {
    const path = fieldOf(pathOf(pointer));
    const length = path.findLastIndex((_, at) => names.has(path.slice(0, at + 1).join("."))) + 1;
    const name = path.slice(0, length).join(".");
    const rest = path.slice(length).join(".");
    if (length === 0) placement.unplaced.push(`${rest ? `\`${rest}\`` : "The request"} ${message}.`);
    // A field shows only its first error.
    else if (!placement.placed.some((each) => each.name === name))
      placement.placed.push({ name, message: rest ? `\`${rest}\` ${message}` : message });
  }
  return placement;
}

function pathOf(pointer: string): string[] {
  const parts = pointer.split("/");
  return parts.slice(Number(parts[0] === "")).map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
}
