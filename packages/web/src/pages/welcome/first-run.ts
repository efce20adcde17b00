import type { RunAgentRequest } from "@outrider/sdk";

const TITLE = "First run";

const task = "Write a small shell script that greets the user, run it, and report what it printed.";

/** The scripted model executes these lines. They do what a real model would do for the task. */
const script = [
  task,
  "SAY: I'll write the script and run it.",
  'WRITE: hello.sh | #!/bin/sh\\necho "Hello from a sandbox, $(id -un)."\\necho "It is $(date -u +%H:%M) UTC on $(uname -s)."\\n',
  "RUN: sh hello.sh",
  "SAY: It printed a greeting and the time. This run keeps the file, the command and its output.",
];

export const SCRIPTED = "scripted";

export function firstRun(modelId: string | undefined): RunAgentRequest & { prompt: string } {
  const isScripted = modelId === undefined || modelId === SCRIPTED;
  return { title: TITLE, prompt: isScripted ? script.join("\n") : task };
}
