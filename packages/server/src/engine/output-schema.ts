import { Ajv, type ErrorObject } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import { badMember } from "./refusal.ts";

/** Which formats there are and what else a schema says besides is the agent's concern; it only has to be one. */
const options = { strict: false, validateFormats: false, addUsedSchema: false, logger: false } as const;

const dialects = {
  "https://json-schema.org/draft/2020-12/schema": new Ajv2020(options),
  "http://json-schema.org/draft-07/schema": new Ajv(options),
};
const usual = "https://json-schema.org/draft/2020-12/schema";

/** Refuses what is no JSON Schema, at the member that is wrong. */
export function requireSchema(schema: Record<string, unknown>, pointer: string) {
  const { $schema = usual } = schema;
  const name = String($schema).replace(/#$/, "");
  if (!Object.hasOwn(dialects, name)) {
    const known = Object.keys(dialects).map((one) => `\`${one}\``);
    throw badMember(`${pointer}/$schema`, `must be one of ${known.join(", ")}, or be left out`);
  }
  const ajv = dialects[name as keyof typeof dialects];
  if (!ajv.validateSchema(schema)) {
    const [first] = ajv.errors as [ErrorObject];
    throw badMember(`${pointer}${first.instancePath}`, `is no JSON Schema: it ${first.message}`);
  }
  try {
    // References that lead nowhere and patterns that cannot be read show only here.
    ajv.compile(schema);
  } catch (error) {
    throw badMember(pointer, `is no JSON Schema that can be used: ${(error as Error).message.slice(0, 500)}`);
  } finally {
    ajv.removeSchema(schema);
  }
}
