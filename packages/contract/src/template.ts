import { z } from "zod";
import { AgentConfigInput } from "./agent-config.ts";
import { limits } from "./limits.ts";
import { templateVariablePattern } from "./template-text.ts";
import { pattern, Timestamp, text, Uuid } from "./text.ts";
import { Owner } from "./view.ts";

const Value = text({ min: 0, max: limits.templates.value });

export const TemplateVariable = z
  .strictObject({
    name: pattern(
      templateVariablePattern,
      "must be 1 to 64 letters, digits and underscores, not starting with a digit",
    ),
    description: text({ max: 1_024 }).optional(),
    default: Value.optional().meta({ description: "A variable without a default needs a value." }),
    options: z
      .array(Value)
      .min(1)
      .max(limits.templates.options)
      .optional()
      .meta({ description: "The allowed values. Default: any text." }),
  })
  .meta({ id: "TemplateVariable" });
export type TemplateVariable = z.infer<typeof TemplateVariable>;

/** A template has no MCP servers, because their headers and variables can contain secrets, which all users would see. */
const TemplateConfig = AgentConfigInput.omit({ mcp_servers: true }).meta({
  id: "TemplateConfig",
  description: "Configuration of the runs that use the template.",
});

const members = {
  name: text({ max: limits.nameCharacters }).meta({
    description: "Unique in the installation, regardless of case.",
  }),
  description: text({ max: 1_024 }).optional(),
  prompt: text({ max: limits.templates.prompt }).meta({
    description: "The prompt. `{{name}}` stands for the value of a variable.",
  }),
  config: TemplateConfig.optional(),
};

export const TemplateRequest = z
  .strictObject({
    ...members,
    variables: z
      .array(TemplateVariable)
      .max(limits.templates.variables)
      .superRefine((variables, context) => {
        variables.forEach(({ name }, index) => {
          if (variables.findIndex((other) => other.name === name) < index)
            context.addIssue({ code: "custom", path: [index, "name"], message: "must be unique" });
        });
      })
      .optional()
      .meta({ description: "Details of variables. Other variables of the prompt accept any text." }),
  })
  .meta({
    id: "TemplateRequest",
    examples: [
      {
        name: "Fix an issue",
        prompt: "Fix issue {{issue}} and add a test.",
        variables: [{ name: "issue", description: "Number of the issue" }],
      },
    ],
  });
export type TemplateRequest = z.infer<typeof TemplateRequest>;

export const Template = z
  .object({
    template_id: Uuid,
    ...members,
    variables: z
      .array(TemplateVariable)
      .meta({ description: "All variables, first those of the prompt in order of appearance." }),
    owner: Owner,
    created_at: Timestamp,
    updated_at: Timestamp,
  })
  .meta({ id: "Template", description: "A prompt with variables that all users can run." });
export type Template = z.infer<typeof Template>;

export const ListTemplatesResponse = z
  .object({ templates: z.array(Template) })
  .meta({ id: "ListTemplatesResponse" });
