import type { AssignedHarness } from "@outrider/contract/worker";
import type { Profile } from "./profile.ts";
import { claude } from "./profiles/claude.ts";
import { codex } from "./profiles/codex.ts";
import { declaredProfile } from "./profiles/declared.ts";
import { gemini } from "./profiles/gemini.ts";
import { opencode } from "./profiles/opencode.ts";
import { pi } from "./profiles/pi.ts";
import { qwen } from "./profiles/qwen.ts";

/** The profiles of the agents that Outrider knows. */
const profiles: Record<string, Profile> = { claude, codex, opencode, gemini, pi, qwen };

/** Returns whether this worker can execute an agent that Outrider knows. */
export function hasProfile(name: string): boolean {
  return Object.hasOwn(profiles, name);
}

/** Returns the profile of a known agent, or of one that the operator declared. */
export function profileOf(harness: AssignedHarness): Profile | undefined {
  if (harness.command) return declaredProfile({ ...harness, command: harness.command });
  return hasProfile(harness.name) ? profiles[harness.name] : undefined;
}
