import { z } from "zod";
import { CreateKeyRequest, CreateKeyResponse, ListKeysResponse } from "../auth/key.ts";
import { route } from "../route.ts";
import { Uuid } from "../text.ts";

export const keysRoutes = {
  listKeys: route({
    method: "GET",
    path: "/keys",
    tag: "Keys",
    summary: "List keys",
    description:
      "Returns your keys and those of your cloud agents. Admins see all keys. Raw keys are never returned.",
    scope: "runs:read",
    responses: { 200: { description: "Keys that are not revoked.", schema: ListKeysResponse } },
    errors: [],
  }),
  createKey: route({
    method: "POST",
    path: "/keys",
    tag: "Keys",
    summary: "Create a key",
    scope: "runs:write",
    body: CreateKeyRequest,
    responses: {
      201: { description: "The key. Its raw value is shown only once.", schema: CreateKeyResponse },
    },
    errors: [],
  }),
  deleteKey: route({
    method: "DELETE",
    path: "/keys/{keyId}",
    tag: "Keys",
    summary: "Revoke a key",
    scope: "runs:write",
    params: z.object({ keyId: Uuid }),
    responses: { 204: { description: "Revoked. The key stops working immediately." } },
    errors: [],
  }),
};
