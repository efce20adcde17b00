import { sanitizeLine } from "../ui/text/sanitize.ts";
import { sandboxLabel } from "./sandbox-choices.tsx";

interface DescribedSandbox {
  kind: string;
  engine?: string | undefined;
  engine_version?: string | undefined;
  runtime?: string | undefined;
}

/** The engines by their own names. */
const engineNames: Record<string, string> = { docker: "Docker", podman: "Podman", kubernetes: "Kubernetes" };

/** Describes a kind of sandbox and its engine, such as "Docker, by Podman 5.4.0 with runsc" or "Kubernetes v1.34.4". */
export function describeSandbox({ kind, engine, engine_version, runtime }: DescribedSandbox): string {
  const label = sandboxLabel(kind);
  const name = engine && (engineNames[engine] ?? engine);
  const version = engine_version && ` ${engine_version}`;
  const text = [
    label,
    name && name !== label && `, by ${name}`,
    name && version,
    runtime && ` with ${runtime}`,
  ];
  return sanitizeLine(text.filter(Boolean).join(""));
}
