import { z } from "zod";
import { Identity, IdentityRequest, ListIdentitiesResponse } from "../identity.ts";
import { gone, route } from "../route.ts";
import { Uuid } from "../text.ts";

const uid = z.object({ uid: Uuid });

export const identitiesRoutes = {
  listIdentities: route({
    method: "GET",
    path: "/agent/identities",
    tag: "Cloud agents",
    summary: "List cloud agents",
    scope: "runs:read",
    answers: { 200: { description: "All cloud agents, by name.", schema: ListIdentitiesResponse } },
    errors: [],
  }),
  createIdentity: route({
    method: "POST",
    path: "/agent/identities",
    tag: "Cloud agents",
    summary: "Create a cloud agent",
    scope: "runs:write",
    body: IdentityRequest,
    answers: { 201: { description: "The cloud agent.", schema: Identity } },
    errors: ["model_not_available"],
  }),
  getIdentity: route({
    method: "GET",
    path: "/agent/identities/{uid}",
    tag: "Cloud agents",
    summary: "Get a cloud agent",
    scope: "runs:read",
    params: uid,
    answers: { 200: { description: "The cloud agent.", schema: Identity } },
    errors: [],
  }),
  replaceIdentity: route({
    method: "PUT",
    path: "/agent/identities/{uid}",
    tag: "Cloud agents",
    summary: "Replace a cloud agent's description",
    scope: "runs:write",
    params: uid,
    body: IdentityRequest,
    answers: { 200: { description: "The cloud agent.", schema: Identity } },
    errors: ["model_not_available"],
  }),
  deleteIdentity: route({
    method: "DELETE",
    path: "/agent/identities/{uid}",
    tag: "Cloud agents",
    summary: "Delete a cloud agent and revoke its keys",
    scope: "runs:write",
    params: uid,
    answers: gone,
    errors: [],
  }),
};
