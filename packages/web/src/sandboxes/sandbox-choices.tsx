import type { SandboxKind } from "@outrider/sdk";

interface SandboxChoice {
  label: string;
  /** When to choose it. */
  advice: string;
}

const choices: Record<SandboxKind | "", SandboxChoice> = {
  "": { label: "Any", advice: "Any worker can execute the runs. Choose this if all workers are alike." },
  local: {
    label: "Local",
    advice: "Processes on a Linux worker. They start fastest.",
  },
  docker: {
    label: "Docker",
    advice:
      "Containers of a Docker or Podman engine, for workers without local sandboxes, or for a stronger runtime such as gVisor.",
  },
  kubernetes: {
    label: "Kubernetes",
    advice: "Pods of a cluster, for more runs at once than a few machines can execute.",
  },
};

export function SandboxOptions() {
  return Object.entries(choices).map(([kind, { label }]) => (
    <option key={kind} value={kind}>
      {label}
    </option>
  ));
}

/** Returns a sentence about when to choose a kind. */
export function sandboxAdvice(kind: string): string {
  return choices[kind as SandboxKind]?.advice ?? "";
}

/** Returns the name of a kind. Unknown kinds are named as they are. */
export function sandboxLabel(kind: string): string {
  return choices[kind as SandboxKind]?.label ?? kind;
}
