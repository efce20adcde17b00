import { ApiError, notFound } from "../../engine/api-error.ts";
import { requireAllEnvironments } from "../../engine/auth/environment-access.ts";
import { environmentsUsingSecret } from "../../store/environments.ts";
import { deleteSecret, listSecrets, lockSecrets, putSecret } from "../../store/secrets.ts";
import { type Handlers, noContent, ok } from "../pipeline/call.ts";

export const secretHandlers: Pick<Handlers, "listSecrets" | "putSecret" | "deleteSecret"> = {
  async listSecrets({ sql, principal }) {
    requireAllEnvironments(principal);
    return ok({ secrets: await listSecrets(sql) });
  },

  async putSecret({ sql, services, principal, params, body }) {
    requireAllEnvironments(principal);
    const sealed = services.vault.seal(body.value, `secret ${params.name}`);
    return ok(await putSecret(sql, params.name, sealed));
  },

  async deleteSecret({ sql, principal, params }) {
    requireAllEnvironments(principal);
    if ((await lockSecrets(sql, [params.name])).length === 0) throw notFound("secret");
    const environments = await environmentsUsingSecret(sql, params.name);
    if (environments.length > 0) {
      throw new ApiError(
        "conflict",
        `The secret is used by: ${environments.join(", ")}. Remove it from these environments first.`,
      );
    }
    await deleteSecret(sql, params.name);
    return noContent;
  },
};
