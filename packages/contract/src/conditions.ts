interface FieldGroup {
  required: readonly string[];
  /** Fields that are allowed only together with the required ones. */
  optional?: readonly string[];
}

/**
 * Returns a JSON Schema rule: an object has the fields of one of two groups, and none of the other group. In a request,
 * null means that a field is absent. The required fields must be strings.
 *
 * The rule is a condition, because code generators ignore conditions. With `oneOf`, they would replace the object by a
 * union of types that lack its other fields.
 */
export function eitherFields(first: FieldGroup, second: FieldGroup) {
  const typed = (type: "string" | "null", names: readonly string[]) =>
    Object.fromEntries(names.map((name) => [name, { type }]));
  const namesOf = ({ required, optional = [] }: FieldGroup) => [...required, ...optional];
  return {
    if: conditionPart(typed("string", first.required), first.required),
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
    then: conditionPart(typed("null", namesOf(second))),
    else: conditionPart(
      { ...typed("string", second.required), ...typed("null", namesOf(first)) },
      second.required,
    ),
  };
}

/**
 * Returns a part of a condition. Without `additionalProperties`, Redocly would apply the strictness of the whole object
 * to each part.
 */
export function conditionPart(properties: Record<string, object>, required?: readonly string[]) {
  return { ...(required ? { required } : {}), properties, additionalProperties: true };
}
