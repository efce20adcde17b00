import { notFound, Refusal } from "../../engine/refusal.ts";
import { environmentsUsingSecret } from "../../store/environments.ts";
import { deleteSecret, listSecrets, lockSecrets, putSecret } from "../../store/secrets.ts";
import { gone, type Handlers, ok } from "../call.ts";

export const secretHandlers: Pick<Handlers, "listSecrets" | "putSecret" | "deleteSecret"> = {
  async listSecrets({ sql }) {
    return ok({ secrets: await listSecrets(sql) });
  },

  async putSecret({ sql, services, params, body }) {
    const sealed = services.vault.seal(body.value, `secret ${params.name}`);
    return ok(await putSecret(sql, params.name, sealed));
  },

  async deleteSecret({ sql, params }) {
    if ((await lockSecrets(sql, [params.name])).length === 0) throw notFound("secret");
    const users = await environmentsUsingSecret(sql, params.name);
    if (users.length > 0) {
      throw new Refusal(
        "conflict",
        `The secret is used by: ${users.join(", ")}. Take it out of these environments first.`,
      );
    }
    await deleteSecret(sql, params.name);
    return gone;
  },
};
