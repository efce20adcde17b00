import { z } from "zod";
import { CloudEnvironment, EnvironmentRequest, ListEnvironmentsResponse } from "../environment.ts";
import { gone, route } from "../route.ts";
import { Uuid } from "../text.ts";

const environmentId = z.object({ environmentId: Uuid });

export const environmentsRoutes = {
  listEnvironments: route({
    method: "GET",
    path: "/agent/environments",
    tag: "Environments",
    summary: "List environments",
    scope: "runs:read",
    answers: { 200: { description: "All environments, by name.", schema: ListEnvironmentsResponse } },
    errors: [],
  }),
  createEnvironment: route({
    method: "POST",
    path: "/agent/environments",
    tag: "Environments",
    summary: "Create an environment",
    scope: "admin",
    body: EnvironmentRequest,
    answers: { 201: { description: "The environment.", schema: CloudEnvironment } },
    errors: [],
  }),
  getEnvironment: route({
    method: "GET",
    path: "/agent/environments/{environmentId}",
    tag: "Environments",
    summary: "Get an environment",
    scope: "runs:read",
    params: environmentId,
    answers: { 200: { description: "The environment.", schema: CloudEnvironment } },
    errors: [],
  }),
  replaceEnvironment: route({
    method: "PUT",
    path: "/agent/environments/{environmentId}",
    tag: "Environments",
    summary: "Replace an environment's configuration",
    scope: "admin",
    params: environmentId,
    body: EnvironmentRequest,
    answers: { 200: { description: "The environment, one version on.", schema: CloudEnvironment } },
    errors: [],
  }),
  deleteEnvironment: route({
    method: "DELETE",
    path: "/agent/environments/{environmentId}",
    tag: "Environments",
    summary: "Delete an environment",
    scope: "admin",
    params: environmentId,
    answers: gone,
    errors: [],
  }),
};
