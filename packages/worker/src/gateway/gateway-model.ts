import type { AssignedModel } from "@outrider/contract/worker";

/** A model that the processes in a sandbox can call. */
export interface GatewayModel {
  /** The names under which agents ask for it, such as its id. The first is the one that model lists show. */
  names: readonly string[];
  /** Whether an agent means this model by a name that no model has. */
  isMeantBy?(name: string): boolean;
  model: AssignedModel;
}
