import { z } from "zod";
import {
  ListModelProvidersResponse,
  ModelProvider,
  ModelProviderName,
  ModelSettings,
  ModelSettingsRequest,
  ModelTest,
  ModelTestRequest,
  PutModelProviderRequest,
} from "../model-provider.ts";
import { noContent, route } from "../route.ts";

const providerName = z.object({ providerName: ModelProviderName });

export const modelProvidersRoutes = {
  listModelProviders: route({
    method: "GET",
    path: "/agent/model-providers",
    tag: "Models",
    summary: "List model providers",
    description: "Only admins see addresses and the results of tests.",
    scope: "runs:read",
    responses: { 200: { description: "The providers.", schema: ListModelProvidersResponse } },
    errors: [],
  }),
  getModelProvider: route({
    method: "GET",
    path: "/agent/model-providers/{providerName}",
    tag: "Models",
    summary: "Get a model provider",
    scope: "runs:read",
    params: providerName,
    responses: { 200: { description: "The provider.", schema: ModelProvider } },
    errors: [],
  }),
  putModelProvider: route({
    method: "PUT",
    path: "/agent/model-providers/{providerName}",
    tag: "Models",
    summary: "Create or replace a model provider",
    description:
      "Takes effect on all servers at once, for runs that start afterwards. If the address changes, the key must be sent again. A provider from the models file or from variables cannot be changed here.",
    scope: "admin",
    params: providerName,
    body: PutModelProviderRequest,
    responses: { 200: { description: "The provider.", schema: ModelProvider } },
    errors: ["conflict"],
  }),
  deleteModelProvider: route({
    method: "DELETE",
    path: "/agent/model-providers/{providerName}",
    tag: "Models",
    summary: "Delete a model provider and its key",
    description: "Runs in progress finish their turn. A provider that a default or an alias uses is kept.",
    scope: "admin",
    params: providerName,
    responses: noContent,
    errors: ["conflict"],
  }),
  testModelProvider: route({
    method: "POST",
    path: "/agent/model-providers/{providerName}/test",
    tag: "Models",
    summary: "Test a model provider with a real call",
    description:
      "Sends a short prompt to one model. The response says how long it took and what came back, or what is wrong. The call costs a few tokens.",
    scope: "admin",
    params: providerName,
    body: ModelTestRequest,
    responses: { 200: { description: "The result.", schema: ModelTest } },
    errors: ["operation_not_supported"],
  }),
  getModelSettings: route({
    method: "GET",
    path: "/agent/model-settings",
    tag: "Models",
    summary: "Get the default model and the aliases",
    scope: "runs:read",
    responses: { 200: { description: "The settings.", schema: ModelSettings } },
    errors: [],
  }),
  setModelSettings: route({
    method: "PUT",
    path: "/agent/model-settings",
    tag: "Models",
    summary: "Set the default model and the aliases",
    description: "Replaces all stored settings. Takes effect on all servers at once.",
    scope: "admin",
    body: ModelSettingsRequest,
    responses: { 200: { description: "The settings.", schema: ModelSettings } },
    errors: [],
  }),
};
