import type { Identity, IdentityRequest } from "@outrider/contract/auth/identity";
import { v7 as uuidv7 } from "uuid";
import { ApiError, notFound } from "../../engine/api-error.ts";
import { requireEnvironmentField } from "../../engine/auth/environment-access.ts";
import { isAdmin, type Principal, requireUser } from "../../engine/auth/principal.ts";
import { type Models, requireReasoningEffort } from "../../engine/models/models.ts";
import {
  deleteIdentity,
  findIdentity,
  insertIdentity,
  listIdentities,
  replaceIdentity,
} from "../../store/auth/identities.ts";
import type { Sql } from "../../store/connection/db.ts";
import { created, type Handlers, noContent, ok } from "../pipeline/call.ts";

/** Throws if the cloud agent's defaults do not exist, or if the caller may not use them. */
async function requireDefaults(
  sql: Sql,
  { models, principal }: { models: Models; principal: Principal },
  { model_id, reasoning_effort, environment_id }: IdentityRequest,
) {
  if (model_id) models.require(model_id, "/model_id");
  if (reasoning_effort)
    requireReasoningEffort(models, model_id ?? models.list.default_model_id, "/reasoning_effort");
  if (environment_id === undefined) return;
  await requireEnvironmentField(sql, principal, {
    pointer: "/environment_id",
    environmentId: environment_id,
  });
}

async function requireIdentity(sql: Sql, uid: string): Promise<Identity> {
  const identity = await findIdentity(sql, uid);
  if (!identity) throw notFound("cloud agent");
  return identity;
}

async function requireOwnership(sql: Sql, principal: Principal, uid: string) {
  requireUser(principal);
  const identity = await requireIdentity(sql, uid);
  if (identity.owner_uid !== principal.userUid && !isAdmin(principal)) {
    throw new ApiError("not_authorized", "This cloud agent belongs to another user.");
  }
}

export const identityHandlers: Pick<
  Handlers,
  "listIdentities" | "createIdentity" | "getIdentity" | "replaceIdentity" | "deleteIdentity"
> = {
  async listIdentities({ sql }) {
    return ok({ agents: await listIdentities(sql) });
  },

  async createIdentity({ sql, services, principal, body }) {
    requireUser(principal);
    await requireDefaults(sql, { models: services.models, principal }, body);
    return created(await insertIdentity(sql, { uid: uuidv7(), owner_uid: principal.userUid, ...body }));
  },

  async getIdentity({ sql, params }) {
    return ok(await requireIdentity(sql, params.uid));
  },

  async replaceIdentity({ sql, services, principal, params, body }) {
    await requireOwnership(sql, principal, params.uid);
    await requireDefaults(sql, { models: services.models, principal }, body);
    return ok(await replaceIdentity(sql, params.uid, body));
  },

  async deleteIdentity({ sql, principal, params }) {
    await requireOwnership(sql, principal, params.uid);
    await deleteIdentity(sql, params.uid);
    return noContent;
  },
};
