import { z } from "zod";
import { Identity, IdentityRequest, ListIdentitiesResponse } from "../auth/identity.ts";
import { noContent, route } from "../route.ts";
import { Uuid } from "../text.ts";

const uid = z.object({ uid: Uuid });

export const identitiesRoutes = {
  listIdentities: route({
    method: "GET",
    path: "/agent/identities",
    tag: "Cloud agents",
    summary: "List cloud agents",
    scope: "runs:read",
    responses: { 200: { description: "All cloud agents, sorted by name.", schema: ListIdentitiesResponse } },
    errors: [],
  }),
  createIdentity: route({
    method: "POST",
    path: "/agent/identities",
    tag: "Cloud agents",
    summary: "Create a cloud agent",
    scope: "runs:write",
    body: IdentityRequest,
    responses: { 201: { description: "The cloud agent.", schema: Identity } },
    errors: ["model_not_available"],
  }),
  getIdentity: route({
    method: "GET",
    path: "/agent/identities/{uid}",
    tag: "Cloud agents",
    summary: "Get a cloud agent",
    scope: "runs:read",
    params: uid,
    responses: { 200: { description: "The cloud agent.", schema: Identity } },
    errors: [],
  }),
  replaceIdentity: route({
    method: "PUT",
    path: "/agent/identities/{uid}",
    tag: "Cloud agents",
    summary: "Replace a cloud agent",
    scope: "runs:write",
    params: uid,
    body: IdentityRequest,
    responses: { 200: { description: "The cloud agent.", schema: Identity } },
    errors: ["model_not_available"],
  }),
  deleteIdentity: route({
    method: "DELETE",
    path: "/agent/identities/{uid}",
    tag: "Cloud agents",
    summary: "Delete a cloud agent and revoke its keys",
    scope: "runs:write",
    params: uid,
    responses: noContent,
    errors: [],
  }),
};
