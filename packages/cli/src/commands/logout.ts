import { Option } from "commander";
import { clientCommand, globalFlags } from "../client-command.ts";
import { baseUrlOf } from "../connection.ts";
import { Complaint } from "../exit.ts";
import { DEFAULT_PROFILE, readProfiles, writeProfiles } from "../profiles.ts";
import { Output } from "../terminal/output.ts";

export const logoutCommand = clientCommand(
  "logout",
  "Forget a stored key. The key itself stays valid: `outrider key revoke` ends it.",
)
  .addOption(new Option("--all", "of every profile").conflicts(["profile", "server"]))
  .action(({ all }: { all?: true }, command) => {
    const flags = globalFlags(command);
    const out = new Output(flags);
    const profiles = readProfiles();
    const base = flags.server && baseUrlOf(flags.server);
    const named = flags.profile ?? process.env.OUTRIDER_PROFILE;
    const isMeant = (name: string) => {
      if (all) return true;
      if (base && named === undefined) return profiles[name]?.base_url === base;
      return name === (named ?? DEFAULT_PROFILE) && (!base || profiles[name]?.base_url === base);
    };
    const gone = Object.keys(profiles).filter(isMeant);
    if (gone.length === 0 && !all) throw new Complaint("No such login is stored.");
    writeProfiles(Object.fromEntries(Object.entries(profiles).filter(([name]) => !isMeant(name))));
    out.done({
      document: { profiles: gone },
      id: gone.join("\n"),
      says: `Forgotten: ${gone.join(", ") || "nothing"}.`,
    });
  });
