import type { RunAgentRequest } from "@outrider/sdk";

const TITLE = "First run";

const words = "Write a small shell program that greets whoever runs it, run it, and tell what it printed.";

/** `scripted` carries out lines and understands nothing; they show the same as a model would do with the words. */
const script = [
  words,
  "SAY: I write the program and run it.",
  'WRITE: hello.sh | #!/bin/sh\\necho "Hello from a sandbox, $(id -un)."\\necho "It is $(date -u +%H:%M) UTC on $(uname -s)."\\n',
  "RUN: sh hello.sh",
  "SAY: It printed a greeting and the time. The file, the command and its output stand in this run for good.",
];

export const SCRIPTED = "scripted";

export function firstRun(modelId: string | undefined): RunAgentRequest {
  const isScripted = modelId === undefined || modelId === SCRIPTED;
  return { title: TITLE, prompt: isScripted ? script.join("\n") : words };
}
