import { clientCommand, globalFlags } from "../client-command.ts";
import { clientOptions, LOCAL_SERVER, toBaseUrl } from "../connection.ts";
import { UsageError } from "../exit-codes.ts";
import { isInteractive, prompt } from "../input/prompt.ts";
import { readStdin } from "../input/text.ts";
import { DEFAULT_PROFILE, profilesPath, readProfiles, writeProfiles } from "../profiles.ts";
import { Output } from "../terminal/output.ts";
import { sanitizeLine } from "../terminal/sanitize.ts";

export const loginCommand = clientCommand(
  "login",
  "Log in to a server. Prompts for the API key, because other users can see arguments.",
)
  .option("--key-stdin", "read the key from stdin")
  .action(async ({ keyStdin }: { keyStdin?: true }, command) => {
    const flags = globalFlags(command);
    const out = new Output(flags);
    await out.prepare();
    const name = flags.profile ?? process.env.OUTRIDER_PROFILE ?? DEFAULT_PROFILE;
    const profiles = readProfiles();
    const configured = flags.server ?? process.env.OUTRIDER_BASE_URL;
    const defaultServer = profiles[name]?.base_url ?? LOCAL_SERVER;
    if (!keyStdin && !isInteractive())
      throw new UsageError(
        "Cannot prompt for the key without a terminal. Pipe it to `outrider login --key-stdin`.",
      );
    const server =
      configured ??
      (keyStdin ? defaultServer : (await prompt(`Server [${defaultServer}]: `)).trim() || defaultServer);
    const base_url = toBaseUrl(server);
    warnAboutPlainText(base_url, out);
    const api_key = (
      keyStdin ? await readStdin() : await prompt("API key (not shown): ", { isHidden: true })
    ).trim();
    if (api_key === "") throw new UsageError("The key is empty.");
    const { Outrider } = await import("@outrider/sdk");
    const me = await new Outrider(clientOptions({ base_url, api_key })).me.get();
    writeProfiles({ ...profiles, [name]: { base_url, api_key } });
    out.done({
      document: { profile: name, base_url, uid: me.uid, display_name: me.display_name },
      id: name,
      message: `Logged in to ${base_url} as ${sanitizeLine(me.display_name)}${me.role ? ` (${me.role})` : ""}.`,
    });
    out.note(`Stored in ${profilesPath()}${name === DEFAULT_PROFILE ? "" : ` as profile ${name}`}.`);
    await out.finish();
  });

function warnAboutPlainText(base: string, out: Output): void {
  const { protocol, hostname } = new URL(base);
  const isLoopback = hostname === "localhost" || hostname === "[::1]" || hostname.startsWith("127.");
  if (protocol === "http:" && !isLoopback)
    out.note(
      `Warning: the connection to ${hostname} does not use TLS. Others on the network can read the key.`,
    );
}
