import { z } from "zod";
import { EnvironmentProposal, EnvironmentProposalRequest } from "../proposal.ts";
import { route } from "../route.ts";
import { Uuid } from "../text.ts";

export const proposalsRoutes = {
  createProposal: route({
    method: "POST",
    path: "/agent/environment-proposals",
    tag: "Environments",
    summary: "Propose settings for an environment",
    description:
      "A worker reads the repository's lock files and proposes an image, setup commands and network access. Poll the proposal until its state is READY or FAILED, which usually takes a few seconds. Nothing is created from it: pass the fields that you want to `POST /agent/environments`.",
    scope: "admin",
    body: EnvironmentProposalRequest,
    responses: { 201: { description: "The proposal is queued.", schema: EnvironmentProposal } },
    errors: [],
  }),
  getProposal: route({
    method: "GET",
    path: "/agent/environment-proposals/{proposalId}",
    tag: "Environments",
    summary: "Get proposed settings",
    scope: "admin",
    params: z.object({ proposalId: Uuid }),
    responses: { 200: { description: "The proposal.", schema: EnvironmentProposal } },
    errors: [],
  }),
};
