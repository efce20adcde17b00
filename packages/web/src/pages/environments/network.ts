import type { CloudEnvironment } from "@outrider/sdk";

type Network = CloudEnvironment["network"];

export const networkModes: { mode: Network["mode"]; label: string; meaning: string }[] = [
  {
    mode: "none",
    label: "No network",
    meaning: "Commands cannot reach anything outside their sandbox. The safest option.",
  },
  {
    mode: "allowlist",
    label: "Only these domains",
    meaning:
      "example.com matches only that name, *.example.com all its subdomains, on ports 80, 443 and 22. db.example.com:5432 matches one port. preset:npm stands for the registry that the worker's own npm uses.",
  },
  {
    mode: "open",
    label: "Open",
    meaning: "All public addresses. An agent can send anything it can read to any of them.",
  },
];

export function networkLabel({ mode, allow = [] }: Network): string {
  if (mode === "none") return "No network";
  if (mode === "open") return "Open";
  return allow.length === 1 ? (allow[0] as string) : `${allow.length} domains`;
}
