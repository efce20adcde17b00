import { z } from "zod";
import { noContent, route } from "../route.ts";
import { ListSecretsResponse, PutSecretRequest, Secret, SecretName } from "../secret.ts";

export const secretsRoutes = {
  listSecrets: route({
    method: "GET",
    path: "/agent/secrets",
    tag: "Secrets",
    summary: "List secrets",
    scope: "admin",
    responses: {
      200: {
        description: "The names of all secrets. Values are never returned.",
        schema: ListSecretsResponse,
      },
    },
    errors: [],
  }),
  putSecret: route({
    method: "PUT",
    path: "/agent/secrets/{name}",
    tag: "Secrets",
    summary: "Create or replace a secret",
    scope: "admin",
    params: z.object({ name: SecretName }),
    body: PutSecretRequest,
    responses: { 200: { description: "The secret is stored.", schema: Secret } },
    errors: [],
  }),
  deleteSecret: route({
    method: "DELETE",
    path: "/agent/secrets/{name}",
    tag: "Secrets",
    summary: "Delete a secret that no environment uses",
    scope: "admin",
    params: z.object({ name: SecretName }),
    responses: noContent,
    errors: ["conflict"],
  }),
};
