import { z } from "zod";
import { CloudEnvironment, EnvironmentRequest, ListEnvironmentsResponse } from "../environment.ts";
import { noContent, route } from "../route.ts";
import { Uuid } from "../text.ts";

const environmentId = z.object({ environmentId: Uuid });

export const environmentsRoutes = {
  listEnvironments: route({
    method: "GET",
    path: "/agent/environments",
    tag: "Environments",
    summary: "List environments",
    scope: "runs:read",
    responses: {
      200: { description: "All environments, sorted by name.", schema: ListEnvironmentsResponse },
    },
    errors: [],
  }),
  createEnvironment: route({
    method: "POST",
    path: "/agent/environments",
    tag: "Environments",
    summary: "Create an environment",
    scope: "admin",
    body: EnvironmentRequest,
    responses: { 201: { description: "The environment.", schema: CloudEnvironment } },
    errors: [],
  }),
  getEnvironment: route({
    method: "GET",
    path: "/agent/environments/{environmentId}",
    tag: "Environments",
    summary: "Get an environment",
    scope: "runs:read",
    params: environmentId,
    responses: { 200: { description: "The environment.", schema: CloudEnvironment } },
    errors: [],
  }),
  replaceEnvironment: route({
    method: "PUT",
    path: "/agent/environments/{environmentId}",
    tag: "Environments",
    summary: "Replace an environment",
    scope: "admin",
    params: environmentId,
    body: EnvironmentRequest,
    responses: {
      200: { description: "The environment, with a new version number.", schema: CloudEnvironment },
    },
    errors: [],
  }),
  deleteEnvironment: route({
    method: "DELETE",
    path: "/agent/environments/{environmentId}",
    tag: "Environments",
    summary: "Delete an environment",
    scope: "admin",
    params: environmentId,
    responses: noContent,
    errors: [],
  }),
};
