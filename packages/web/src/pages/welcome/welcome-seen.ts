import { storedSetting } from "../../frame/stored-setting.ts";

const stored = storedSetting("welcomed");

/** Returns whether this browser has opened the welcome page before. */
export function hasSeenWelcome(): boolean {
  return stored.read() === "yes";
}

export function rememberWelcome() {
  stored.write("yes");
}
