import type { CloudEnvironment, EnvironmentRequest } from "@outrider/contract/environment";
import { v7 as uuidv7 } from "uuid";
import { badMember, notFound } from "../../engine/refusal.ts";
import { latestBuilds } from "../../store/builds.ts";
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

async function requireSecrets(sql: Sql, { secrets = [], repos = [] }: EnvironmentRequest) {
  const named = [
    ...secrets.map((name, index) => ({ name, pointer: `/secrets/${index}` })),
    ...repos.flatMap(({ secret }, index) =>
      secret ? [{ name: secret, pointer: `/repos/${index}/secret` }] : [],
    ),
  ];
  const known = await lockSecrets(sql, [...new Set(named.map(({ name }) => name))]);
  const unknown = named.find(({ name }) => !known.includes(name));
  if (unknown)
    throw badMember(unknown.pointer, "names no secret; store it first with PUT /agent/secrets/{name}");
}

async function withBuilds(sql: Sql, environments: CloudEnvironment[]): Promise<CloudEnvironment[]> {
  const builds = await latestBuilds(
    sql,
    environments.map(({ environment_id }) => environment_id),
  );
  return environments.map((environment) => {
    const build = builds.get(environment.environment_id);
    return build ? { ...environment, build } : environment;
  });
}

export const environmentHandlers: Pick<
  Handlers,
  "listEnvironments" | "createEnvironment" | "getEnvironment" | "replaceEnvironment" | "deleteEnvironment"
> = {
  async listEnvironments({ sql }) {
    return ok({ environments: await withBuilds(sql, await listEnvironments(sql)) });
  },

  async createEnvironment({ sql, body }) {
    await requireSecrets(sql, body);
    return created(await insertEnvironment(sql, uuidv7(), body));
  },

  async getEnvironment({ sql, params }) {
    const environment = await findEnvironment(sql, params.environmentId);
    if (!environment) throw notFound("environment");
    const [shown] = await withBuilds(sql, [environment]);
    return ok(shown);
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
