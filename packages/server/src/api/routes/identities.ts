import type { Identity, IdentityRequest } from "@outrider/contract/identity";
import { v7 as uuidv7 } from "uuid";
import type { Models } from "../../engine/models.ts";
import { isAdmin, type Principal, requirePerson } from "../../engine/principal.ts";
import { badMember, notFound, Refusal } from "../../engine/refusal.ts";
import type { Sql } from "../../store/db.ts";
import { findEnvironment } from "../../store/environments.ts";
import {
  deleteIdentity,
  findIdentity,
  insertIdentity,
  listIdentities,
  replaceIdentity,
} from "../../store/identities.ts";
import { created, gone, type Handlers, ok } from "../call.ts";

async function requireKnown(sql: Sql, models: Models, { model_id, environment_id }: IdentityRequest) {
  if (model_id) models.require(model_id, "/model_id");
  if (environment_id && !(await findEnvironment(sql, environment_id))) {
    throw badMember("/environment_id", "names no environment, or a deleted one");
  }
}

async function requireIdentity(sql: Sql, uid: string): Promise<Identity> {
  const identity = await findIdentity(sql, uid);
  if (!identity) throw notFound("cloud agent");
  return identity;
}

async function requireOwn(sql: Sql, principal: Principal, uid: string) {
  requirePerson(principal);
  const identity = await requireIdentity(sql, uid);
  if (identity.owner_uid !== principal.personUid && !isAdmin(principal)) {
    throw new Refusal("not_authorized", "This cloud agent belongs to somebody else.");
  }
}

export const identityHandlers: Pick<
  Handlers,
  "listIdentities" | "createIdentity" | "getIdentity" | "replaceIdentity" | "deleteIdentity"
> = {
  async listIdentities({ sql }) {
    return ok({ identities: await listIdentities(sql) });
  },

  async createIdentity({ sql, services, principal, body }) {
    requirePerson(principal);
    await requireKnown(sql, services.models, body);
    return created(await insertIdentity(sql, { uid: uuidv7(), owner_uid: principal.personUid, ...body }));
  },

  async getIdentity({ sql, params }) {
    return ok(await requireIdentity(sql, params.uid));
  },

  async replaceIdentity({ sql, services, principal, params, body }) {
    await requireOwn(sql, principal, params.uid);
    await requireKnown(sql, services.models, body);
    return ok(await replaceIdentity(sql, params.uid, body));
  },

  async deleteIdentity({ sql, principal, params }) {
    await requireOwn(sql, principal, params.uid);
    await deleteIdentity(sql, params.uid);
    return gone;
  },
};
