import type { ReasoningEffort } from "@outrider/sdk";
import { Option } from "commander";

const efforts: ReasoningEffort[] = ["none", "low", "medium", "high", "max"];

export function reasoningEffortOption(description: string): Option {
  return new Option("--reasoning-effort <level>", description).choices(efforts);
}
