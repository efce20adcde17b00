import { useSyncExternalStore } from "react";
import { storedSetting } from "./stored-setting.ts";

export type ThemeChoice = "system" | "light" | "dark";

const stored = storedSetting("theme");
const system = matchMedia("(prefers-color-scheme: dark)");
const listeners = new Set<() => void>();

function choice(): ThemeChoice {
  const value = stored.read();
  return value === "light" || value === "dark" ? value : "system";
}

/** Applies the theme with the same rule as public/theme.js, which runs before the first paint. */
function apply() {
  const chosen = choice();
  const dark = chosen === "system" ? system.matches : chosen === "dark";
  document.documentElement.dataset.theme = dark ? "dark" : "light";
  for (const notify of listeners) notify();
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
