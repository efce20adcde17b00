import type { CloudEnvironment } from "@outrider/sdk";

const SCRIPTED_MODEL_ID = "scripted";

/** What a first look at an environment asks for: where things are, and whether they work. */
export function testPrompt({ repos }: CloudEnvironment, modelId: string | undefined): string {
  if (modelId !== SCRIPTED_MODEL_ID) {
    return "Look around and change nothing: say which repositories lie in the workspace and at which commits, which languages and tools are installed, and whether the project's own checks can be run here.";
  }
  return [
    "RUN: pwd && ls -la",
    ...(repos.length > 0
      ? ['RUN: for each in */.git; do echo "${each%/.git}"; git -C "${each%/.git}" log -1 --oneline; done']
      : []),
    "RUN: env | cut -d= -f1 | sort | tr '\\n' ' '",
    "SAY: This is where runs begin.",
  ].join("\n");
}
