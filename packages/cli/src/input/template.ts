import { fillTemplate, renderTemplate } from "@outrider/contract/template-text";
import type { Outrider, Template } from "@outrider/sdk";
import { UsageError } from "../exit-codes.ts";
import { parsePairs } from "./pairs.ts";
import { findTemplate } from "./resolve-names.ts";

/** Returns a template and its prompt with the values of `--var` inserted. */
export async function readTemplate(
  client: Outrider,
  { template: given, var: pairs }: { template?: string; var?: string[] },
): Promise<{ template: Template; prompt: string } | undefined> {
  if (given === undefined) {
    if (pairs) throw new UsageError("--var requires --template.");
    return undefined;
  }
  const template = await findTemplate(client, given);
  const { variables } = template;
  const { values, missing, invalid, unknown } = fillTemplate(variables, parsePairs("--var", pairs ?? []));
  if (unknown.length > 0) {
    const known = variables.map(({ name }) => name).join(", ") || "none";
    throw new UsageError(`The template has no variable ${unknown.join(", ")}. Its variables: ${known}.`);
  }
  if (missing.length > 0)
    throw new UsageError(
      `The template needs ${missing.join(", ")}. Pass ${missing.map((name) => `--var ${name}=…`).join(" ")}.`,
    );
  const wrong = variables.find(({ name }) => invalid.includes(name));
  if (wrong) throw new UsageError(`${wrong.name} must be one of: ${wrong.options?.join(", ")}.`);
  return { template, prompt: renderTemplate(template.prompt, values) };
}
