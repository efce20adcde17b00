import { z } from "zod";
import {
  AppManifest,
  AppManifestCompletion,
  AppManifestRequest,
  Forge,
  ForgeRequest,
  ForgeTest,
  ForgeTestRequest,
  ListForgeRepositoriesResponse,
  ListForgesResponse,
} from "../forge.ts";
import { noContent, route } from "../route.ts";
import { text, Uuid } from "../text.ts";

const forgeId = z.object({ forgeId: Uuid });

export const forgesRoutes = {
  listForges: route({
    method: "GET",
    path: "/agent/forges",
    tag: "Forges",
    summary: "List connected forges",
    scope: "runs:read",
    responses: { 200: { description: "The forges.", schema: ListForgesResponse } },
    errors: [],
  }),
  createForge: route({
    method: "POST",
    path: "/agent/forges",
    tag: "Forges",
    summary: "Connect a forge with an access token",
    description:
      "Checks the token at the forge before it is stored. Connecting the same address again replaces the token.",
    scope: "admin",
    body: ForgeRequest,
    responses: { 201: { description: "The forge.", schema: Forge } },
    errors: ["operation_not_supported"],
  }),
  getForge: route({
    method: "GET",
    path: "/agent/forges/{forgeId}",
    tag: "Forges",
    summary: "Get a forge",
    scope: "runs:read",
    params: forgeId,
    responses: { 200: { description: "The forge.", schema: Forge } },
    errors: [],
  }),
  deleteForge: route({
    method: "DELETE",
    path: "/agent/forges/{forgeId}",
    tag: "Forges",
    summary: "Disconnect a forge",
    description: "Branches and pull requests stay. Outrider no longer reads or updates them.",
    scope: "admin",
    params: forgeId,
    responses: noContent,
    errors: [],
  }),
  listForgeRepositories: route({
    method: "GET",
    path: "/agent/forges/{forgeId}/repositories",
    tag: "Forges",
    summary: "List repositories of a forge",
    scope: "admin",
    params: forgeId,
    query: z.strictObject({
      q: text({ max: 100 }).optional().meta({ description: "Part of the name." }),
      page: z
        .string()
        .regex(/^[1-9]\d{0,3}$/, { error: "must be an integer between 1 and 9999" })
        .transform(Number)
        .pipe(z.int())
        .optional(),
    }),
    responses: { 200: { description: "A page of repositories.", schema: ListForgeRepositoriesResponse } },
    errors: ["operation_not_supported"],
  }),
  testForge: route({
    method: "POST",
    path: "/agent/forges/{forgeId}/test",
    tag: "Forges",
    summary: "Test the access to a repository",
    description:
      "Reads the repository, pushes a scratch branch `outrider/test-…` with one commit, opens and closes a draft pull request, and deletes the branch. The response says what is missing.",
    scope: "admin",
    params: forgeId,
    body: ForgeTestRequest,
    responses: { 200: { description: "The result.", schema: ForgeTest } },
    errors: ["operation_not_supported"],
  }),
  createAppManifest: route({
    method: "POST",
    path: "/agent/forge-app-manifests",
    tag: "Forges",
    summary: "Begin to create a GitHub App",
    scope: "admin",
    body: AppManifestRequest,
    responses: { 201: { description: "The settings of the app.", schema: AppManifest } },
    errors: [],
  }),
  completeAppManifest: route({
    method: "POST",
    path: "/agent/forge-app-manifests/{manifestId}/complete",
    tag: "Forges",
    summary: "Finish creating a GitHub App",
    scope: "admin",
    params: z.object({ manifestId: Uuid }),
    body: AppManifestCompletion,
    responses: { 201: { description: "The forge.", schema: Forge } },
    errors: ["conflict", "operation_not_supported"],
  }),
};
