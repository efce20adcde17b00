import type { CloudEnvironment } from "@outrider/sdk";

type Network = CloudEnvironment["network"];

export const networkModes: { mode: Network["mode"]; label: string; meaning: string }[] = [
  { mode: "none", label: "No network", meaning: "Commands reach nothing outside their sandbox. The safest." },
  {
    mode: "allowlist",
    label: "Only these domains",
    meaning: "example.com is that name alone, *.example.com everything below it; ports 80, 443 and 22.",
  },
  {
    mode: "open",
    label: "Open",
    meaning: "Every public address. What an agent can read, it can then send anywhere.",
  },
];

export function networkWords({ mode, allow = [] }: Network): string {
  if (mode === "none") return "No network";
  if (mode === "open") return "Open";
  return allow.length === 1 ? (allow[0] as string) : `${allow.length} domains`;
}
