import type { EnvironmentRequest } from "@outrider/contract/environment";
import { v7 as uuidv7 } from "uuid";
import { badMember, notFound } from "../../engine/refusal.ts";
import type { Sql } from "../../store/db.ts";
import {
  deleteEnvironment,
  findEnvironment,
  insertEnvironment,
  listEnvironments,
  replaceEnvironment,
} from "../../store/environments.ts";
import { lockSecrets } from "../../store/secrets.ts";
import { created, gone, type Handlers, ok } from "../call.ts";

async function requireSecrets(sql: Sql, { secrets = [] }: EnvironmentRequest) {
  const known = await lockSecrets(sql, secrets);
  const unknown = secrets.findIndex((name) => !known.includes(name));
  if (unknown >= 0)
    throw badMember(`/secrets/${unknown}`, "names no secret; store it first with PUT /agent/secrets/{name}");
}

export const environmentHandlers: Pick<
  Handlers,
  "listEnvironments" | "createEnvironment" | "getEnvironment" | "replaceEnvironment" | "deleteEnvironment"
> = {
  async listEnvironments({ sql }) {
    return ok({ environments: await listEnvironments(sql) });
  },

  async createEnvironment({ sql, body }) {
    await requireSecrets(sql, body);
    return created(await insertEnvironment(sql, uuidv7(), body));
  },

  async getEnvironment({ sql, params }) {
    const environment = await findEnvironment(sql, params.environmentId);
    if (!environment) throw notFound("environment");
    return ok(environment);
  },

  async replaceEnvironment({ sql, params, body }) {
    await requireSecrets(sql, body);
    const environment = await replaceEnvironment(sql, params.environmentId, body);
    if (!environment) throw notFound("environment");
    return ok(environment);
  },

  async deleteEnvironment({ sql, params }) {
    if (!(await deleteEnvironment(sql, params.environmentId))) throw notFound("environment");
    return gone;
  },
};
