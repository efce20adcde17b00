import type { Identity, IdentityRequest } from "@outrider/contract/auth/identity";
import { v7 as uuidv7 } from "uuid";
import { ApiError, notFound } from "../../engine/api-error.ts";
import { requireEnvironmentField } from "../../engine/auth/environment-access.ts";
import { isAdmin, type Principal, requireUser } from "../../engine/auth/principal.ts";
import type { Harnesses } from "../../engine/harnesses/harnesses.ts";
import { type Models, requireReasoningEffort, SCRIPTED_MODEL } from "../../engine/models/models.ts";
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
  { models, harnesses, principal }: { models: Models; harnesses: Harnesses; principal: Principal },
  { model_id, reasoning_effort, harness, environment_id }: IdentityRequest,
) {
  if (model_id) models.require(model_id, "/model_id");
  if (reasoning_effort)
    requireReasoningEffort(models, model_id ?? models.list.default_model_id, "/reasoning_effort");
  if (harness) {
    // Without a model of its own, each run of the cloud agent has to fit. The scripted model fits every harness.
    const modelId = model_id ?? SCRIPTED_MODEL;
    harnesses.requireUsable(
      { name: harness, modelId, hasReasoningEffort: reasoning_effort !== undefined },
      { harness: "/harness", model: "/model_id", reasoningEffort: "/reasoning_effort" },
    );
  }
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
    await requireDefaults(sql, { ...services, principal }, body);
    return created(await insertIdentity(sql, { uid: uuidv7(), owner_uid: principal.userUid, ...body }));
  },

  async getIdentity({ sql, params }) {
    return ok(await requireIdentity(sql, params.uid));
  },

  async replaceIdentity({ sql, services, principal, params, body }) {
    await requireOwnership(sql, principal, params.uid);
    await requireDefaults(sql, { ...services, principal }, body);
    return ok(await replaceIdentity(sql, params.uid, body));
  },

  async deleteIdentity({ sql, principal, params }) {
    await requireOwnership(sql, principal, params.uid);
    await deleteIdentity(sql, params.uid);
    return noContent;
  },
};
