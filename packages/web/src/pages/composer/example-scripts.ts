/** Scripts for the scripted model. Each shows another part of a run. */
export const exampleScripts: readonly { label: string; prompt: string }[] = [
  {
    label: "Write and run a file",
    prompt: [
      "SAY: I'll write a script and run it.",
      'WRITE: hello.sh | #!/bin/sh\\necho "Hello from a sandbox, $(id -un)."\\n',
      "RUN: sh hello.sh",
      "SAY: It printed a greeting.",
    ].join("\n"),
  },
  {
    label: "Look around the sandbox",
    prompt: ["RUN: uname -a; id; df -h /; ls -la", "SAY: This is where commands of a run execute."].join(
      "\n",
    ),
  },
  {
    label: "Ask a question",
    prompt: ["SAY: I need a decision from you.", "ASK: Should I continue?", "SAY: Thanks, done."].join("\n"),
  },
];
