import type { CloudEnvironment, EnvironmentRequest } from "@outrider/contract/environment";
import { v7 as uuidv7 } from "uuid";
import { invalidField, notFound } from "../../engine/api-error.ts";
import {
  mayUseEnvironment,
  requireAllEnvironments,
  requireEnvironment,
} from "../../engine/auth/environment-access.ts";
import { latestBuilds } from "../../store/builds.ts";
import type { Sql } from "../../store/connection/db.ts";
import {
  deleteEnvironment,
  insertEnvironment,
  listEnvironments,
  replaceEnvironment,
} from "../../store/environments.ts";
import { lockSecrets } from "../../store/secrets.ts";
import { created, type Handlers, noContent, ok } from "../pipeline/call.ts";

async function requireSecretsExist(sql: Sql, environment: EnvironmentRequest) {
  const { secrets = [], build_secrets = [], repos = [], docker_image_secret } = environment;
  const references = [
    ...(docker_image_secret ? [{ name: docker_image_secret, pointer: "/docker_image_secret" }] : []),
    ...secrets.map((name, index) => ({ name, pointer: `/secrets/${index}` })),
    ...build_secrets.map((name, index) => ({ name, pointer: `/build_secrets/${index}` })),
    ...repos.flatMap(({ secret }, index) =>
      secret ? [{ name: secret, pointer: `/repos/${index}/secret` }] : [],
    ),
    ...repos.flatMap(({ publish }, index) =>
      publish?.signing_secret
        ? [{ name: publish.signing_secret, pointer: `/repos/${index}/publish/signing_secret` }]
        : [],
    ),
  ];
  const known = await lockSecrets(sql, [...new Set(references.map(({ name }) => name))]);
  const unknown = references.find(({ name }) => !known.includes(name));
  if (unknown)
    throw invalidField(
      unknown.pointer,
      "does not name a secret; create it first with PUT /agent/secrets/{name}",
    );
}

async function withLatestBuilds(sql: Sql, environments: CloudEnvironment[]): Promise<CloudEnvironment[]> {
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
  async listEnvironments({ sql, principal }) {
    const usable = (await listEnvironments(sql)).filter(({ environment_id }) =>
      mayUseEnvironment(principal, environment_id),
    );
    return ok({ environments: await withLatestBuilds(sql, usable) });
  },

  async createEnvironment({ sql, services, principal, body }) {
    requireAllEnvironments(principal);
    if (body.harness) services.harnesses.require(body.harness, "/harness");
    await requireSecretsExist(sql, body);
    return created(await insertEnvironment(sql, uuidv7(), body));
  },

  async getEnvironment({ sql, principal, params }) {
    const environment = await requireEnvironment(sql, principal, params.environmentId);
    const [shown] = await withLatestBuilds(sql, [environment]);
    return ok(shown);
  },

  async replaceEnvironment({ sql, services, principal, params, body }) {
    requireAllEnvironments(principal);
    if (body.harness) services.harnesses.require(body.harness, "/harness");
    await requireSecretsExist(sql, body);
    const environment = await replaceEnvironment(sql, params.environmentId, body);
    if (!environment) throw notFound("environment");
    return ok(environment);
  },

  async deleteEnvironment({ sql, principal, params }) {
    requireAllEnvironments(principal);
    if (!(await deleteEnvironment(sql, params.environmentId))) throw notFound("environment");
    return noContent;
  },
};
