import { clientCommand, globalFlags } from "../client-command.ts";
import { baseUrlOf, clientOptions, LOCAL_SERVER } from "../connection.ts";
import { Complaint } from "../exit.ts";
import { ask, canAsk } from "../input/ask.ts";
import { readStdin } from "../input/text.ts";
import { DEFAULT_PROFILE, profilesPath, readProfiles, writeProfiles } from "../profiles.ts";
import { harmlessLine } from "../terminal/harmless.ts";
import { Output } from "../terminal/output.ts";

export const loginCommand = clientCommand(
  "login",
  "Store a server's address and a key for it. The key is asked for and not shown; arguments are for everybody to read.",
)
  .option("--key-stdin", "read the key from stdin")
  .action(async ({ keyStdin }: { keyStdin?: true }, command) => {
    const flags = globalFlags(command);
    const out = new Output(flags);
    const name = flags.profile ?? process.env.OUTRIDER_PROFILE ?? DEFAULT_PROFILE;
    const profiles = readProfiles();
    const known = flags.server ?? process.env.OUTRIDER_BASE_URL;
    const usual = profiles[name]?.base_url ?? LOCAL_SERVER;
    if (!keyStdin && !canAsk())
      throw new Complaint(
        "There is no terminal to ask for the key: give it to `outrider login --key-stdin`.",
      );
    const server = known ?? (keyStdin ? usual : (await ask(`Server [${usual}]: `)).trim() || usual);
    const base_url = baseUrlOf(server);
    warnOfPlainText(base_url, out);
    const api_key = (
      keyStdin ? await readStdin() : await ask("Key (not shown): ", { isHidden: true })
    ).trim();
    if (api_key === "") throw new Complaint("No key was given.");
    const { Outrider } = await import("@outrider/sdk");
    const me = await new Outrider(clientOptions({ base_url, api_key })).me.get();
    writeProfiles({ ...profiles, [name]: { base_url, api_key } });
    out.done({
      document: { profile: name, base_url, uid: me.uid, display_name: me.display_name },
      id: name,
      says: `Logged in to ${base_url} as ${harmlessLine(me.display_name)}${me.role ? ` (${me.role})` : ""}.`,
    });
    out.say(`Stored in ${profilesPath()}${name === DEFAULT_PROFILE ? "" : ` as profile ${name}`}.`);
  });

function warnOfPlainText(base: string, out: Output): void {
  const { protocol, hostname } = new URL(base);
  const isHere = hostname === "localhost" || hostname === "[::1]" || hostname.startsWith("127.");
  if (protocol === "http:" && !isHere)
    out.say(`${hostname} is asked without TLS: whoever is on the way can read the key.`);
}
