import { invalidField } from "../../engine/api-error.ts";
import { requireAllEnvironments } from "../../engine/auth/environment-access.ts";
import { readProposal, requestProposal } from "../../engine/builds/proposals.ts";
import { lockSecrets } from "../../store/secrets.ts";
import { created, type Handlers, ok } from "../pipeline/call.ts";

export const proposalHandlers: Pick<Handlers, "createProposal" | "getProposal"> = {
  async createProposal({ sql, principal, body }) {
    requireAllEnvironments(principal);
    const { secret } = body.repository;
    if (secret !== undefined && (await lockSecrets(sql, [secret])).length === 0)
      throw invalidField(
        "/repository/secret",
        "does not name a secret; create it first with PUT /agent/secrets/{name}",
      );
    return created(await requestProposal(sql, principal, body.repository));
  },

  async getProposal({ sql, principal, params }) {
    requireAllEnvironments(principal);
    return ok(await readProposal(sql, principal, params.proposalId));
  },
};
