import type { Outrider, ReasoningEffort, Template, TemplateRequest, TemplateVariable } from "@outrider/sdk";
import { Command } from "commander";
import { clientCommand, withClient } from "../client-command.ts";
import { UsageError } from "../exit-codes.ts";
import { collect, omitUndefined, parsePair } from "../input/pairs.ts";
import { confirm } from "../input/prompt.ts";
import { reasoningEffortOption } from "../input/reasoning-effort.ts";
import { findEnvironmentId, findTemplate } from "../input/resolve-names.ts";
import { readText } from "../input/text.ts";
import type { Output } from "../terminal/output.ts";

const list = clientCommand("list", "List prompt templates.")
  .alias("ls")
  .action(
    withClient(async ({ client, out }) => {
      const document = await client.templates.list();
      out.list<Template>({
        ...{ document, rows: document.templates, id: ({ template_id }) => template_id },
        emptyMessage: "No templates.",
        columns: [
          { title: "NAME", text: ({ name }) => name },
          { title: "VARIABLES", text: ({ variables }) => variables.map(({ name }) => name).join(", ") },
          { title: "OWNER", text: ({ owner }) => owner.display_name },
          { title: "DESCRIPTION", text: ({ description }) => description, canShrink: true },
        ],
      });
    }),
  );

function variableText({ name, description, default: preset, options }: TemplateVariable): string {
  const details = [
    ...(description ? [description] : []),
    ...(options ? [`one of ${options.join(", ")}`] : []),
    ...(preset === undefined ? [] : [`default ${JSON.stringify(preset)}`]),
  ];
  return details.length > 0 ? `${name} (${details.join("; ")})` : name;
}

function show(out: Output, template: Template): void {
  out.item({
    document: template,
    id: template.template_id,
    fields: [
      ["template", template.template_id],
      ["name", template.name],
      ["description", template.description],
      ...template.variables.map((variable): [string, string] => ["variable", variableText(variable)]),
      ["model", template.config?.model_id],
      ["environment", template.config?.environment_id],
      ["owner", template.owner.display_name],
      ["updated", template.updated_at],
      ["prompt", template.prompt],
    ],
  });
}

const get = clientCommand("get", "Show a prompt template.")
  .alias("view")
  .argument("<template>", "name or ID of the template")
  .action(
    withClient(async ({ client, out }, given) => show(out, await findTemplate(client, given as string))),
  );

interface PutFlags {
  description?: string;
  default?: string[];
  options?: string[];
  env?: string;
  model?: string;
  harness?: string;
  reasoningEffort?: ReasoningEffort;
  name?: string;
}

function addVariables(before: TemplateVariable[], flags: PutFlags): TemplateVariable[] {
  const variables = new Map(before.map((variable) => [variable.name, variable]));
  const change = (name: string, part: Partial<TemplateVariable>) =>
    variables.set(name, { ...variables.get(name), ...part, name });
  for (const [name, value] of (flags.default ?? []).map((text) => parsePair("--default", text)))
    change(name, { default: value });
  for (const [name, value] of (flags.options ?? []).map((text) => parsePair("--options", text)))
    change(name, { options: value.split(",") });
  return [...variables.values()];
}

async function existing(client: Outrider, name: string): Promise<Template | undefined> {
  const { templates } = await client.templates.list();
  return templates.find((template) => template.name.toLowerCase() === name.toLowerCase());
}

const put = clientCommand(
  "put",
  "Create a prompt template, or change the one with this name. Options that you do not pass stay the same.",
)
  .argument("<name>")
  .argument("[prompt]", "prompt with {{variables}}; @path reads a file, - reads stdin")
  .option("--description <text>", "description of the template")
  .option("--default <variable=value>", "default of a variable; repeatable", collect)
  .option("--options <variable=a,b>", "the allowed values of a variable; repeatable", collect)
  .option("--env <environment>", "environment of its runs, by name or ID")
  .option("--model <id>", "model of its runs")
  .addOption(reasoningEffortOption("reasoning effort of its runs"))
  .option("--harness <name>", "harness of its runs, from `outrider harness list`")
  .option("--name <name>", "new name")
  .action(
    withClient<PutFlags>(async ({ client, out, flags }, name, prompt) => {
      const before = await existing(client, name as string);
      if (!before && prompt === undefined)
        throw new UsageError("A new template needs a prompt. Pass it after the name.");
      const config = {
        ...before?.config,
        ...omitUndefined({
          environment_id: flags.env === undefined ? undefined : await findEnvironmentId(client, flags.env),
          model_id: flags.model,
          reasoning_effort: flags.reasoningEffort,
          harness: flags.harness,
        }),
      };
      const description = flags.description ?? before?.description;
      const request: TemplateRequest = {
        name: flags.name ?? before?.name ?? (name as string),
        prompt: prompt === undefined ? (before?.prompt as string) : await readText(prompt),
        variables: addVariables(before?.variables ?? [], flags),
        ...(description ? { description } : {}),
        ...(Object.keys(config).length > 0 ? { config } : {}),
      };
      show(
        out,
        before
          ? await client.templates.replace(before.template_id, request)
          : await client.templates.create(request),
      );
    }),
  );

const remove = clientCommand("delete", "Delete a prompt template.")
  .argument("<template>", "name or ID of the template")
  .option("-y, --yes", "skip the confirmation")
  .action(
    withClient<{ yes?: true }>(async ({ client, out, flags }, given) => {
      const { template_id, name } = await findTemplate(client, given as string);
      await confirm(`Delete template ${name}`, flags);
      await client.templates.delete(template_id);
      out.done({
        document: { template_id, deleted: true },
        id: template_id,
        message: `Deleted template ${name}.`,
      });
    }),
  );

export const templateCommand = new Command("template")
  .description("Manage prompt templates. All users share them.")
  .addCommand(list)
  .addCommand(get)
  .addCommand(put)
  .addCommand(remove);
