import { notFound } from "../../engine/api-error.ts";
import { requireAllEnvironments } from "../../engine/auth/environment-access.ts";
import { completeAppManifest, createAppManifest } from "../../engine/forges/app-manifests.ts";
import { toApiError } from "../../engine/forges/forges.ts";
import { deleteForge, findForge, listForges, toForge } from "../../store/forges.ts";
import { created, type Handlers, noContent, ok } from "../pipeline/call.ts";

type ForgeOperation =
  | "listForges"
  | "createForge"
  | "getForge"
  | "deleteForge"
  | "listForgeRepositories"
  | "testForge"
  | "createAppManifest"
  | "completeAppManifest";

export const forgeHandlers: Pick<Handlers, ForgeOperation> = {
  async listForges({ sql }) {
    return ok({ forges: (await listForges(sql)).map(toForge) });
  },

  async createForge({ sql, services, principal, body }) {
    requireAllEnvironments(principal);
    return created(await services.forges.connect(sql, body, principal.userUid));
  },

  async getForge({ sql, params }) {
    const row = await findForge(sql, params.forgeId);
    if (!row) throw notFound("forge");
    return ok(toForge(row));
  },

  async deleteForge({ sql, principal, params }) {
    requireAllEnvironments(principal);
    if (!(await deleteForge(sql, params.forgeId))) throw notFound("forge");
    return noContent;
  },

  async listForgeRepositories({ services, principal, params, query }) {
    requireAllEnvironments(principal);
    const client = await services.forges.clientFor(params.forgeId);
    const { q, page } = query;
    const options = { ...(q ? { query: q } : {}), ...(page ? { page } : {}) };
    return ok(await client.listRepositories(options).catch(rethrow));
  },

  async testForge({ sql, services, principal, params, body }) {
    requireAllEnvironments(principal);
    return ok(await services.forges.test(sql, params.forgeId, body.repository).catch(rethrow));
  },

  async createAppManifest({ sql, services, principal, body }) {
    requireAllEnvironments(principal);
    const context = { origin: services.origin(), createdBy: principal.userUid };
    return created(await createAppManifest(sql, body, context));
  },

  async completeAppManifest({ sql, services, principal, params, body }) {
    requireAllEnvironments(principal);
    const request = { manifestId: params.manifestId, ...body, createdBy: principal.userUid };
    return created(await completeAppManifest(sql, services.forges, request).catch(rethrow));
  },
};

function rethrow(error: unknown): never {
  throw toApiError(error);
}
