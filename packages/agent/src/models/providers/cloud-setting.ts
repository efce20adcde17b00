import type { AssignedModel } from "@outrider/contract/worker";
import { Failure } from "../../failure.ts";

/** Returns a setting of a cloud provider, such as its region. Throws a Failure if the operator has not set it. */
export function requireSetting(
  { model_id, cloud_settings = {} }: AssignedModel,
  name: keyof NonNullable<AssignedModel["cloud_settings"]>,
): string {
  const value = cloud_settings[name];
  if (value) return value;
  const message = `The provider of ${model_id} has no ${name}. The operator must set it in Outrider's model configuration.`;
  throw new Failure("model_not_available", message);
}
