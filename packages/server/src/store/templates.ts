import type { Template, TemplateRequest, TemplateVariable } from "@outrider/contract/template";
import { templateVariables } from "@outrider/contract/template-text";
import type { Sql, Tx } from "./connection/db.ts";
import { json } from "./connection/json.ts";
import { omitNulls } from "./runs/runs.ts";

interface Row extends Omit<Template, "owner"> {
  owner_uid: string;
  owner_name: string;
}

function toTemplate({ owner_uid, owner_name, ...row }: Row): Template {
  return omitNulls({
    ...row,
    variables: allVariables(row.prompt, row.variables),
    owner: { uid: owner_uid, display_name: owner_name },
  });
}

/** Returns the variables of the prompt in order of appearance, and then those that it does not use. */
function allVariables(prompt: string, described: TemplateVariable[]): TemplateVariable[] {
  const used = templateVariables(prompt);
  return [
    ...used.map((name) => described.find((variable) => variable.name === name) ?? { name }),
    ...described.filter(({ name }) => !used.includes(name)),
  ];
}

function select(sql: Sql) {
  return sql`
    select t.template_id, t.name, t.description, t.prompt, t.variables, t.config, t.created_at, t.updated_at,
      t.owner_uid, u.display_name as owner_name
    from templates t join users u on u.uid = t.owner_uid`;
}

/** Returns false if another template has the name. */
export async function insertTemplate(
  sql: Sql,
  templateId: string,
  template: TemplateRequest & { owner_uid: string },
): Promise<boolean> {
  const { owner_uid, name, description = null, prompt, variables = [], config } = template;
  const { count } = await sql`
    insert into templates (template_id, owner_uid, name, description, prompt, variables, config)
    values (${templateId}, ${owner_uid}, ${name}, ${description}, ${prompt}, ${json(sql, variables)},
      ${json(sql, config)}::jsonb)
    on conflict do nothing`;
  return count > 0;
}

/** Returns false if another template has the name. */
export async function replaceTemplate(
  sql: Sql,
  templateId: string,
  template: TemplateRequest,
): Promise<boolean> {
  const { name, description = null, prompt, variables = [], config } = template;
  const [taken] = await sql`
    select 1 from templates where lower(name) = lower(${name}) and template_id <> ${templateId}`;
  if (taken) return false;
  await sql`
    update templates set name = ${name}, description = ${description}, prompt = ${prompt},
      variables = ${json(sql, variables)}, config = ${json(sql, config)}::jsonb, updated_at = outrider_now()
    where template_id = ${templateId}`;
  return true;
}

export async function findTemplate(sql: Sql, templateId: string): Promise<Template | undefined> {
  const [row] = await sql<Row[]>`${select(sql)} where t.template_id = ${templateId}`;
  return row && toTemplate(row);
}

export async function listTemplates(sql: Sql): Promise<Template[]> {
  const rows = await sql<Row[]>`${select(sql)} order by lower(t.name), t.template_id`;
  return rows.map(toTemplate);
}

/** Locks all templates, so that names stay unique and concurrent requests cannot exceed a limit, and counts them. */
export async function lockTemplates(tx: Tx): Promise<number> {
  await tx`lock table templates in share row exclusive mode`;
  const [row] = await tx<{ count: number }[]>`select count(*)::int as count from templates`;
  return row?.count ?? 0;
}

export async function deleteTemplate(sql: Sql, templateId: string): Promise<void> {
  await sql`delete from templates where template_id = ${templateId}`;
}

export async function transferTemplates(tx: Tx, ownerUid: string, newOwnerUid: string): Promise<void> {
  await tx`update templates set owner_uid = ${newOwnerUid} where owner_uid = ${ownerUid}`;
}
