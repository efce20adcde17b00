import { limits } from "@outrider/contract/limits";
import type { Template, TemplateRequest } from "@outrider/contract/template";
import { v7 as uuidv7 } from "uuid";
import { ApiError, invalidField, notFound } from "../../engine/api-error.ts";
import { mayUseEnvironment, requireEnvironmentField } from "../../engine/auth/environment-access.ts";
import { isAdmin, type Principal, requireUser } from "../../engine/auth/principal.ts";
import type { Sql } from "../../store/connection/db.ts";
import {
  deleteTemplate,
  findTemplate,
  insertTemplate,
  listTemplates,
  lockTemplates,
  replaceTemplate,
} from "../../store/templates.ts";
import { created, type Handlers, noContent, ok, type Services } from "../pipeline/call.ts";

const mayUse = (principal: Principal, { config }: Template) =>
  config?.environment_id === undefined || mayUseEnvironment(principal, config.environment_id);

async function requireTemplate(sql: Sql, principal: Principal, templateId: string): Promise<Template> {
  const template = await findTemplate(sql, templateId);
  if (!template || !mayUse(principal, template)) throw notFound("template");
  return template;
}

async function requireOwnTemplate(sql: Sql, principal: Principal, templateId: string): Promise<void> {
  const { owner } = await requireTemplate(sql, principal, templateId);
  requireUser(principal);
  if (owner.uid === principal.userUid || isAdmin(principal)) return;
  throw new ApiError(
    "not_authorized",
    "Only the owner of a template and admins can change it. Save a copy with another name.",
  );
}

/** Throws if what the configuration names does not exist, so that mistakes show up now and not in each run. */
async function requireConfig(
  sql: Sql,
  { services: { models, harnesses }, principal }: { services: Services; principal: Principal },
  { config }: TemplateRequest,
) {
  if (config?.model_id) models.require(config.model_id, "/config/model_id");
  if (config?.harness) harnesses.require(config.harness, "/config/harness");
  if (config?.environment_id)
    await requireEnvironmentField(sql, principal, {
      pointer: "/config/environment_id",
      environmentId: config.environment_id,
    });
}

const nameTaken = () => invalidField("/name", "is used by another template", "conflict");

export const templateHandlers: Pick<
  Handlers,
  "listTemplates" | "createTemplate" | "getTemplate" | "replaceTemplate" | "deleteTemplate"
> = {
  async listTemplates({ sql, principal }) {
    const templates = await listTemplates(sql);
    return ok({ templates: templates.filter((template) => mayUse(principal, template)) });
  },

  async createTemplate({ sql, services, principal, body }) {
    requireUser(principal);
    await requireConfig(sql, { services, principal }, body);
    if ((await lockTemplates(sql)) >= limits.templates.count)
      throw new ApiError("conflict", `There are ${limits.templates.count} templates. Delete one first.`);
    const templateId = uuidv7();
    if (!(await insertTemplate(sql, templateId, { ...body, owner_uid: principal.userUid })))
      throw nameTaken();
    return created(await findTemplate(sql, templateId));
  },

  async getTemplate({ sql, principal, params }) {
    return ok(await requireTemplate(sql, principal, params.templateId));
  },

  async replaceTemplate({ sql, services, principal, params, body }) {
    await requireOwnTemplate(sql, principal, params.templateId);
    await requireConfig(sql, { services, principal }, body);
    await lockTemplates(sql);
    if (!(await replaceTemplate(sql, params.templateId, body))) throw nameTaken();
    return ok(await requireTemplate(sql, principal, params.templateId));
  },

  async deleteTemplate({ sql, principal, params }) {
    await requireOwnTemplate(sql, principal, params.templateId);
    await deleteTemplate(sql, params.templateId);
    return noContent;
  },
};
