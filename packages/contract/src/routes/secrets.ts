import { z } from "zod";
import { gone, route } from "../route.ts";
import { ListSecretsResponse, PutSecretRequest, Secret, SecretName } from "../secret.ts";

export const secretsRoutes = {
  listSecrets: route({
    method: "GET",
    path: "/agent/secrets",
    tag: "Secrets",
    summary: "List the names of secrets",
    scope: "admin",
    answers: { 200: { description: "Names only; values never come out.", schema: ListSecretsResponse } },
    errors: [],
  }),
  putSecret: route({
    method: "PUT",
    path: "/agent/secrets/{name}",
    tag: "Secrets",
    summary: "Store or replace a secret",
    scope: "admin",
    params: z.object({ name: SecretName }),
    body: PutSecretRequest,
    answers: { 200: { description: "The secret is stored.", schema: Secret } },
    errors: [],
  }),
  deleteSecret: route({
    method: "DELETE",
    path: "/agent/secrets/{name}",
    tag: "Secrets",
    summary: "Delete a secret that no environment uses",
    scope: "admin",
    params: z.object({ name: SecretName }),
    answers: gone,
    errors: ["conflict"],
  }),
};
