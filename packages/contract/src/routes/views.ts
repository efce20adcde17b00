import { z } from "zod";
import { noContent, route } from "../route.ts";
import { Uuid } from "../text.ts";
import { CreateViewRequest, ListViewsResponse, UpdateViewRequest, View } from "../view.ts";

const viewId = z.object({ viewId: Uuid });

export const viewsRoutes = {
  listViews: route({
    method: "GET",
    path: "/agent/views",
    tag: "Views",
    summary: "List saved views",
    description: "Returns your own views and those that other users share, sorted by name.",
    scope: "runs:read",
    responses: { 200: { description: "The views.", schema: ListViewsResponse } },
    errors: [],
  }),
  createView: route({
    method: "POST",
    path: "/agent/views",
    tag: "Views",
    summary: "Save a view",
    scope: "runs:write",
    body: CreateViewRequest,
    responses: { 201: { description: "The view.", schema: View } },
    errors: ["conflict"],
  }),
  updateView: route({
    method: "PATCH",
    path: "/agent/views/{viewId}",
    tag: "Views",
    summary: "Change a view",
    description: "Only the owner of a view and admins can change it.",
    scope: "runs:write",
    params: viewId,
    body: UpdateViewRequest,
    responses: { 200: { description: "The view.", schema: View } },
    errors: [],
  }),
  deleteView: route({
    method: "DELETE",
    path: "/agent/views/{viewId}",
    tag: "Views",
    summary: "Delete a view",
    description: "Only the owner of a view and admins can delete it.",
    scope: "runs:write",
    params: viewId,
    responses: noContent,
    errors: [],
  }),
};
