import { setTimeout as pause } from "node:timers/promises";
import type { Forge, ForgeType, Outrider } from "@outrider/sdk";
import { Argument, Option } from "commander";
import { type Context, clientCommand, withClient } from "../client-command.ts";
import { exits, UsageError } from "../exit-codes.ts";
import { numberParser, omitUndefined } from "../input/pairs.ts";
import { isInteractive, prompt } from "../input/prompt.ts";
import { readFileOrFail, readStdin } from "../input/text.ts";
import type { Output } from "../terminal/output.ts";
import { sanitizeLine } from "../terminal/sanitize.ts";
import { Status } from "../terminal/status.ts";
import { testForge } from "./forges/test-forge.ts";

const POLL_MS = 2_000;
const SHOWN_REPOSITORIES = 10;

interface ConnectFlags {
  host?: string;
  tokenFile?: string;
  app?: true;
  organization?: string;
  test?: string;
  timeout: number;
}

/** Where a user creates a token, and what it must allow. */
const tokenPages: Record<ForgeType, (url: string) => string> = {
  github: (url) =>
    `${url}/settings/personal-access-tokens/new, with the permissions "Contents: Read and write", "Pull requests: Read and write", "Checks: Read" and "Actions: Read"`,
  gitlab: (url) =>
    `${url}/-/user_settings/personal_access_tokens, with the scopes "api" and "write_repository"`,
  gitea: (url) =>
    `${url}/user/settings/applications, with the permissions "repository: Read and Write", "issue: Read and Write" and "user: Read"`,
};

const defaultUrls: Partial<Record<ForgeType, string>> = {
  github: "https://github.com",
  gitlab: "https://gitlab.com",
};

export const connectCommand = clientCommand(
  "connect",
  "Connect a forge, so that runs can push branches and open pull requests.",
)
  .addArgument(
    new Argument("<type>", "type of the forge; gitea also stands for Forgejo").choices([
      "github",
      "gitlab",
      "gitea",
    ]),
  )
  .option("--host <host>", "host or URL of the forge; default: github.com or gitlab.com")
  .option("--token-file <file>", "file with an access token; - reads stdin; default: a prompt")
  .addOption(
    new Option("--app", "create a GitHub App in the browser instead of using a token").conflicts("tokenFile"),
  )
  .option("--organization <name>", "with --app: the organization that owns the app; default: your user")
  .option("--test <repository>", "test clone, push and pull request with this repository, such as acme/api")
  .option("--timeout <seconds>", "with --app: how long to wait", numberParser("--timeout"), 900)
  .action(
    withClient<ConnectFlags>(async (context, given) => {
      const type = given as ForgeType;
      const { client, out, flags } = context;
      if (flags.app && type !== "github") throw new UsageError("--app is only for github.");
      if (flags.organization !== undefined && !flags.app)
        throw new UsageError("--organization requires --app.");
      const url = forgeUrl(type, flags.host);
      const forge = flags.app
        ? await connectApp(context, url)
        : await client.forges.create({ type, token: await readToken({ type, url, flags, out }), url });
      const { forge_id, host, login } = forge;
      out.done({ document: forge, id: forge_id, message: `Connected ${host} as ${login}.` });
      if (flags.test !== undefined) return testForge({ client, out, forge, repository: flags.test });
      if (!out.isJson && !out.isQuiet) await offerTest({ client, out, forge });
    }),
  );

function forgeUrl(type: ForgeType, host: string | undefined): string {
  const url = host === undefined ? defaultUrls[type] : /^https?:\/\//i.test(host) ? host : `https://${host}`;
  if (url === undefined) throw new UsageError("Pass --host with the address of the forge.");
  if (!URL.canParse(url)) throw new UsageError(`--host: ${JSON.stringify(host)} is not a host or URL.`);
  const { username, password, origin, pathname } = new URL(url);
  if (username || password) throw new UsageError("--host must not contain a user or token.");
  return `${origin}${pathname.replace(/\/+$/, "")}`;
}

/** Reads the token. It cannot be passed as an argument, because other users of the machine can see arguments. */
async function readToken(from: {
  type: ForgeType;
  url: string;
  flags: ConnectFlags;
  out: Output;
}): Promise<string> {
  const { type, url, flags, out } = from;
  const file = flags.tokenFile;
  if (file === undefined && !isInteractive())
    throw new UsageError("Pass the token with --token-file, or with --token-file - and stdin.");
  if (file === undefined) out.note(`Create a token at ${tokenPages[type](url)}.`);
  const text =
    file === undefined
      ? await prompt("Token (not shown): ", { isHidden: true })
      : file === "-"
        ? await readStdin()
        : readFileOrFail(file).toString("utf8");
  const token = text.trim();
  if (token === "") throw new UsageError("The token is empty.");
  return token;
}

/** Shows the page that creates a GitHub App, and waits until it is connected. */
async function connectApp({ client, out, flags }: Context<ConnectFlags>, url: string): Promise<Forge> {
  const version = ({ forge_id, updated_at }: Forge) => `${forge_id} ${updated_at}`;
  const before = new Set((await client.forges.list()).forges.map(version));
  const page = new URL("/settings/forges/github-app/new", client.baseURL);
  const { host } = new URL(url);
  const query = omitUndefined({ host, organization: flags.organization });
  page.search = new URLSearchParams(query).toString();
  out.note("Open this page to create the app:");
  out.note(`  ${page.href}`);
  const status = new Status(out);
  status.show("Waiting for the app");
  try {
    for (const end = Date.now() + flags.timeout * 1_000; Date.now() < end; await pause(POLL_MS)) {
      const { forges } = await client.forges.list();
      const created = forges.find(
        (each) => each.auth === "app" && each.host === host && !before.has(version(each)),
      );
      if (created) return created;
    }
  } finally {
    status.stop();
  }
  throw new UsageError(`No app was connected within ${flags.timeout} s. Run the command again.`, {
    exit: exits.waitTimeout,
    code: "timeout",
  });
}

/** Lists repositories, and tests one if the user wants to. */
async function offerTest({
  client,
  out,
  forge,
}: {
  client: Outrider;
  out: Output;
  forge: Forge;
}): Promise<void> {
  if (forge.install_url) out.note(`Install the app in repositories: ${sanitizeLine(forge.install_url)}`);
  const { repositories, has_more } = await client.forges.repositories(forge.forge_id);
  const shown = repositories.slice(0, SHOWN_REPOSITORIES);
  if (shown.length === 0) return out.note("It has access to no repositories yet.");
  out.note("Repositories:");
  for (const { repository, can_push } of shown)
    out.note(`  ${sanitizeLine(repository)}${can_push ? "" : " (read only)"}`);
  if (has_more || repositories.length > shown.length)
    out.note(`  … List all with: outrider forges repositories ${sanitizeLine(forge.host)}`);
  if (!isInteractive()) {
    return out.note(`Test one with: outrider forges test ${sanitizeLine(forge.host)} OWNER/NAME`);
  }
  const repository = (await prompt("Repository to test with a scratch branch (empty: none): ")).trim();
  if (repository !== "") await testForge({ client, out, forge, repository });
}
