import { Option } from "commander";
import { clientCommand, globalFlags } from "../client-command.ts";
import { toBaseUrl } from "../connection.ts";
import { UsageError } from "../exit-codes.ts";
import { DEFAULT_PROFILE, readProfiles, writeProfiles } from "../profiles.ts";
import { Output } from "../terminal/output.ts";

export const logoutCommand = clientCommand(
  "logout",
  "Log out of a server. Deletes the stored key, which stays valid; use `outrider key revoke` to revoke it.",
)
  .addOption(new Option("--all", "all profiles").conflicts(["profile", "server"]))
  .action(async ({ all }: { all?: true }, command) => {
    const flags = globalFlags(command);
    const out = new Output(flags);
    await out.prepare();
    const profiles = readProfiles();
    const base = flags.server && toBaseUrl(flags.server);
    const named = flags.profile ?? process.env.OUTRIDER_PROFILE;
    const isSelected = (name: string) => {
      if (all) return true;
      if (base && named === undefined) return profiles[name]?.base_url === base;
      return name === (named ?? DEFAULT_PROFILE) && (!base || profiles[name]?.base_url === base);
    };
    const removed = Object.keys(profiles).filter(isSelected);
    if (removed.length === 0 && !all) throw new UsageError("No stored login found.");
    writeProfiles(Object.fromEntries(Object.entries(profiles).filter(([name]) => !isSelected(name))));
    out.done({
      document: { profiles: removed },
      id: removed.join("\n"),
      message: removed.length > 0 ? `Logged out of ${removed.join(", ")}.` : "No stored login found.",
    });
    await out.finish();
  });
