import { useSyncExternalStore } from "react";
import { setting } from "./setting.ts";

export type ThemeChoice = "system" | "light" | "dark";

const stored = setting("theme");
const system = matchMedia("(prefers-color-scheme: dark)");
const listeners = new Set<() => void>();

function choice(): ThemeChoice {
  const value = stored.read();
  return value === "light" || value === "dark" ? value : "system";
}

/** The same rule as in public/theme.js, which decides before the first paint. */
function apply() {
  const chosen = choice();
  const dark = chosen === "system" ? system.matches : chosen === "dark";
  document.documentElement.dataset.theme = dark ? "dark" : "light";
  for (const tell of listeners) tell();
}

system.addEventListener("change", apply);

export function chooseTheme(next: ThemeChoice) {
  stored.write(next === "system" ? undefined : next);
  apply();
}

export function useTheme(): ThemeChoice {
  return useSyncExternalStore((listener) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  }, choice);
}
