import { setting } from "../../shell/setting.ts";

const stored = setting("welcomed");

/** Whoever has seen the welcome, or has passed it by, is not led there again. */
export function isWelcomed(): boolean {
  return stored.read() === "yes";
}

export function rememberWelcome() {
  stored.write("yes");
}
