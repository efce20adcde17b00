import { z } from "zod";
import { ErrorCodeName } from "../errors/error.ts";
import { ProposalResult } from "../proposal.ts";
import { Uuid } from "../text.ts";
import { AssignedEnvironment } from "./environment.ts";

export const ProposalTakeRequest = z.strictObject({ worker_id: Uuid });

/** A repository to read, with the value of its secret. */
export const AssignedProposal = z.object({
  repository: AssignedEnvironment.shape.repos.element,
  credentials: AssignedEnvironment.shape.credentials,
});
export type AssignedProposal = z.infer<typeof AssignedProposal>;

export const ProposalFinishRequest = z.strictObject({
  worker_id: Uuid,
  outcome: z.discriminatedUnion("type", [
    z.strictObject({ type: z.literal("ready"), result: ProposalResult }),
    z.strictObject({ type: z.literal("failed"), error_code: ErrorCodeName, message: z.string().max(10_000) }),
    z
      .strictObject({ type: z.literal("abandoned") })
      .meta({ description: "Another worker can take it over." }),
  ]),
});
export type ProposalFinishRequest = z.infer<typeof ProposalFinishRequest>;
