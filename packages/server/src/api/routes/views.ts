import { limits } from "@outrider/contract/limits";
import type { View } from "@outrider/contract/view";
import { v7 as uuidv7 } from "uuid";
import { ApiError, notFound } from "../../engine/api-error.ts";
import { isAdmin, type Principal, requireUser } from "../../engine/auth/principal.ts";
import type { Sql } from "../../store/connection/db.ts";
import { countViews, deleteView, findView, insertView, listViews, updateView } from "../../store/views.ts";
import { created, type Handlers, noContent, ok } from "../pipeline/call.ts";

/** Throws if the caller may not change the view. To others, a private view does not exist. */
async function requireOwnView(sql: Sql, principal: Principal, viewId: string): Promise<View> {
  requireUser(principal);
  const view = await findView(sql, viewId);
  const isOwner = view?.owner.uid === principal.userUid || isAdmin(principal);
  if (!view || !(isOwner || view.is_shared)) throw notFound("view");
  if (!isOwner)
    throw new ApiError("not_authorized", "Only the owner of a view and admins can change it. Save a copy.");
  return view;
}

export const viewHandlers: Pick<Handlers, "listViews" | "createView" | "updateView" | "deleteView"> = {
  async listViews({ sql, principal }) {
    return ok({ views: await listViews(sql, principal.creator.uid) });
  },

  async createView({ sql, principal, body }) {
    requireUser(principal);
    if ((await countViews(sql, principal.userUid)) >= limits.views.perUser)
      throw new ApiError("conflict", `You have ${limits.views.perUser} saved views. Delete one first.`);
    const viewId = uuidv7();
    await insertView(sql, viewId, { ...body, owner_uid: principal.userUid });
    return created(await findView(sql, viewId));
  },

  async updateView({ sql, principal, params, body }) {
    await requireOwnView(sql, principal, params.viewId);
    await updateView(sql, params.viewId, body);
    return ok(await findView(sql, params.viewId));
  },

  async deleteView({ sql, principal, params }) {
    await requireOwnView(sql, principal, params.viewId);
    await deleteView(sql, params.viewId);
    return noContent;
  },
};
