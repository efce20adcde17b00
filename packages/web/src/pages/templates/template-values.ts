import { templateVariables } from "@outrider/contract/template-text";
import type { Template, TemplateRequest, TemplateVariable } from "@outrider/sdk";
import type { Draft } from "../composer/draft.ts";

/** The values of the template form. */
export interface TemplateValues {
  name: string | undefined;
  description: string | undefined;
  prompt: string | undefined;
  config: TemplateRequest["config"];
  /** Details of variables by name. Those that the prompt no longer contains are not sent. */
  details: Record<string, VariableDetails>;
}

export interface VariableDetails {
  description: string;
  default: string;
  /** The allowed values, one per line. */
  options: string;
}

export const noDetails: VariableDetails = { description: "", default: "", options: "" };

export function valuesOf(
  template: Pick<Template, "name" | "description" | "prompt" | "config" | "variables">,
): TemplateValues {
  const { name, description, prompt, config, variables } = template;
  return {
    ...{ name, description, prompt, config },
    details: Object.fromEntries(
      variables.map((variable) => [
        variable.name,
        {
          description: variable.description ?? "",
          default: variable.default ?? "",
          options: variable.options?.join("\n") ?? "",
        },
      ]),
    ),
  };
}

/** Returns the values of a new template from the draft of a run. */
export function valuesOfDraft({
  prompt,
  environment_id,
  harness,
  model_id,
  skill_spec,
}: Draft): TemplateValues {
  const config = { environment_id, harness, model_id, skill_spec };
  return {
    ...{ name: undefined, description: undefined, prompt },
    config: withoutEmpty(config) as TemplateRequest["config"],
    details: {},
  };
}

export function requestOf({ name, description, prompt = "", config, details }: TemplateValues) {
  const variables = templateVariables(prompt).map((variable) =>
    variableOf(variable, details[variable] ?? noDetails),
  );
  const settings = withoutEmpty(config ?? {});
  return {
    ...withoutEmpty({ name, description }),
    prompt,
    ...(variables.length > 0 && { variables }),
    ...(Object.keys(settings).length > 0 && { config: settings }),
  };
}

function variableOf(name: string, details: VariableDetails): TemplateVariable {
  const options = details.options
    .split("\n")
    .map((line) => line.trim())
    .filter(Boolean);
  return {
    name,
    ...(details.description.trim() && { description: details.description.trim() }),
    ...(details.default && { default: details.default }),
    ...(options.length > 0 && { options }),
  };
}

function withoutEmpty(values: object): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(values).filter(([, value]) => value !== undefined && value !== ""),
  );
}
