import type { AssignedHarness } from "@outrider/contract/worker";
import type { Profile } from "./profile.ts";
import { claude } from "./profiles/claude.ts";
import { codex } from "./profiles/codex.ts";
import { declaredProfile } from "./profiles/declared.ts";

/** The profiles of the agents that Outrider knows. */
const profiles: Record<string, Profile> = { claude, codex };

/** Returns the profile of a known agent, or of one that the operator declared. */
export function profileOf(harness: AssignedHarness): Profile | undefined {
  if (harness.command) return declaredProfile({ ...harness, command: harness.command });
  return Object.hasOwn(profiles, harness.name) ? profiles[harness.name] : undefined;
}
