import { z } from "zod";
import { CreateKeyRequest, CreateKeyResponse, ListKeysResponse } from "../key.ts";
import { route } from "../route.ts";
import { Uuid } from "../text.ts";

export const keysRoutes = {
  listKeys: route({
    method: "GET",
    path: "/keys",
    tag: "Keys",
    summary: "List keys",
    description: "Your own and your cloud agents'; an admin sees all. Raw keys never come out.",
    scope: "runs:read",
    answers: { 200: { description: "Keys that are not revoked.", schema: ListKeysResponse } },
    errors: [],
  }),
  createKey: route({
    method: "POST",
    path: "/keys",
    tag: "Keys",
    summary: "Create a key",
    scope: "runs:write",
    body: CreateKeyRequest,
    answers: { 201: { description: "The key, with its raw value this once.", schema: CreateKeyResponse } },
    errors: [],
  }),
  deleteKey: route({
    method: "DELETE",
    path: "/keys/{keyId}",
    tag: "Keys",
    summary: "Revoke a key at once",
    scope: "runs:write",
    params: z.object({ keyId: Uuid }),
    answers: { 204: { description: "It is revoked." } },
    errors: [],
  }),
};
