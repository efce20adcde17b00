import type { CloudEnvironment } from "@outrider/sdk";
import { SCRIPTED } from "../../welcome/first-run.ts";

/** Returns the suggested prompt for a test run, which asks the agent to check the workspace's content and tools. */
export function testPrompt({ repos }: CloudEnvironment, modelId: string | undefined): string {
  if (modelId !== SCRIPTED) {
    return "Look around without changing anything. Report which repositories are in the workspace and at which commits, which languages and tools are installed, and whether the project's own checks can run here.";
  }
  return [
    "RUN: pwd && ls -la",
    ...(repos.length > 0
      ? ['RUN: for each in */.git; do echo "${each%/.git}"; git -C "${each%/.git}" log -1 --oneline; done']
      : []),
    "RUN: env | cut -d= -f1 | sort | tr '\\n' ' '",
    "SAY: This is where runs start.",
  ].join("\n");
}
