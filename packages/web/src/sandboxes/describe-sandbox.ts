import { sanitizeLine } from "../ui/text/sanitize.ts";
import { sandboxLabel } from "./sandbox-choices.tsx";

interface DescribedSandbox {
  kind: string;
  engine?: string | undefined;
  engine_version?: string | undefined;
  runtime?: string | undefined;
}

/** The engines by their own names. */
const engineNames: Record<string, string> = { docker: "Docker", podman: "Podman" };

/** Describes a kind of sandbox and its engine, such as "Docker, by Podman 5.4.0 with runsc". */
export function describeSandbox({ kind, engine, engine_version, runtime }: DescribedSandbox): string {
  const name = engine && [engineNames[engine] ?? engine, engine_version].filter(Boolean).join(" ");
  const text = [sandboxLabel(kind), name && `, by ${name}`, runtime && ` with ${runtime}`];
  return sanitizeLine(text.filter(Boolean).join(""));
}
