import { z } from "zod";
import { noContent, route } from "../route.ts";
import { ListTemplatesResponse, Template, TemplateRequest } from "../template.ts";
import { Uuid } from "../text.ts";

const templateId = z.object({ templateId: Uuid });

export const templatesRoutes = {
  listTemplates: route({
    method: "GET",
    path: "/agent/templates",
    tag: "Templates",
    summary: "List prompt templates",
    description:
      "Returns all templates, sorted by name. A key that is limited to some environments does not get templates of other environments.",
    scope: "runs:read",
    responses: { 200: { description: "The templates.", schema: ListTemplatesResponse } },
    errors: [],
  }),
  createTemplate: route({
    method: "POST",
    path: "/agent/templates",
    tag: "Templates",
    summary: "Create a prompt template",
    description: "All users can use the template. Only its owner and admins can change it.",
    scope: "runs:write",
    body: TemplateRequest,
    responses: { 201: { description: "The template.", schema: Template } },
    errors: ["conflict", "model_not_available"],
  }),
  getTemplate: route({
    method: "GET",
    path: "/agent/templates/{templateId}",
    tag: "Templates",
    summary: "Get a prompt template",
    scope: "runs:read",
    params: templateId,
    responses: { 200: { description: "The template.", schema: Template } },
    errors: [],
  }),
  replaceTemplate: route({
    method: "PUT",
    path: "/agent/templates/{templateId}",
    tag: "Templates",
    summary: "Replace a prompt template",
    description: "Only the owner of a template and admins can replace it.",
    scope: "runs:write",
    params: templateId,
    body: TemplateRequest,
    responses: { 200: { description: "The template.", schema: Template } },
    errors: ["conflict", "model_not_available"],
  }),
  deleteTemplate: route({
    method: "DELETE",
    path: "/agent/templates/{templateId}",
    tag: "Templates",
    summary: "Delete a prompt template",
    description: "Only the owner of a template and admins can delete it.",
    scope: "runs:write",
    params: templateId,
    responses: noContent,
    errors: [],
  }),
};
