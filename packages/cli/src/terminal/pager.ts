import { execFileSync, type StdioOptions, spawn } from "node:child_process";
import { once } from "node:events";

/**
 * Prints text that is already sanitized, through the user's pager for git: GIT_PAGER, `core.pager`, PAGER, or less. As with git,
 * less exits at once if the text fits on the screen.
 */
export async function page(text: string): Promise<void> {
  const pager = findPager();
  if (pager === "" || pager === "cat") {
    process.stdout.write(text);
    return;
  }
  // Do not pass the API key to the pager.
  const { OUTRIDER_API_KEY: _, ...inherited } = process.env;
  const env = { LESS: "FRX", LV: "-c", ...inherited };
  const child = spawn(pager, { shell: true, env, stdio: ["pipe", "inherit", "inherit"] });
  // The pager ends when the user quits it, not with Ctrl-C.
  const ignore = () => {};
  process.on("SIGINT", ignore);
  child.stdin?.on("error", () => {}); // The user may quit before everything is read.
  child.stdin?.end(text);
  const [code] = await once(child, "close");
  process.off("SIGINT", ignore);
  // The shell's exit code for a program that does not exist.
  if (code === 127) process.stdout.write(text);
}

function findPager(): string {
  const { GIT_PAGER, PAGER } = process.env;
  try {
    const stdio: StdioOptions = ["ignore", "pipe", "ignore"];
    return execFileSync("git", ["var", "GIT_PAGER"], { encoding: "utf8", stdio }).trim();
  } catch {
    return GIT_PAGER ?? PAGER ?? "less";
  }
}
