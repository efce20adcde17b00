import type { ModelWork } from "@outrider/contract/worker";
import type { LanguageModel } from "ai";
import { Failure } from "../failure.ts";
import { scriptedModel } from "./scripted.ts";

/** The model that a run is to be worked by, at its provider. */
export function openModel({ provider, model_id }: ModelWork): LanguageModel {
  if (provider === "scripted") return scriptedModel();
  throw new Failure("model_not_available", `This worker cannot call ${model_id}, a model of ${provider}.`);
}
