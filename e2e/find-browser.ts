import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";

// The headless shell comes first: it draws no window and needs little more than half of the CPU time.
const names = [
  ...["chromium-headless-shell", "chromium", "chromium-browser"],
  ...["google-chrome", "google-chrome-stable"],
];

export function findBrowser(): string {
  const folders = (process.env.PATH ?? "").split(delimiter);
  const candidates = names.flatMap((name) => folders.map((folder) => join(folder, name)));
  const found = [...candidates, "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"].find(
    existsSync,
  );
  if (!found) throw new Error("This needs Chromium or Google Chrome on PATH: run `scripts/setup test`.");
  return found;
}
