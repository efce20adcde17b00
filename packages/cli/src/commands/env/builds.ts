import type { Build, BuildEvent } from "@outrider/sdk";
import type { Context } from "../../client-command.ts";
import { clientCommand, withClient } from "../../client-command.ts";
import { Complaint, exits } from "../../exit.ts";
import { gather } from "../../gather.ts";
import { environmentId } from "../../input/named.ts";
import { ago, bytes, duration } from "../../terminal/figures.ts";
import { harmless, harmlessLine } from "../../terminal/harmless.ts";
import type { Output } from "../../terminal/output.ts";
import type { Style } from "../../terminal/style.ts";

export const buildCommand = clientCommand("build", "Build an environment anew, ahead of a run.")
  .argument("<environment>", "its name or id")
  .option("-f, --follow", "show its log until it is finished")
  .action(
    withClient<{ follow?: true }>(async (context, given) => {
      const { client, out, flags } = context;
      const environment = await environmentId(client, given as string);
      const build = await client.builds.create(environment);
      if (flags.follow) return followBuild(context, environment, build.build_id);
      out.done({ document: build, id: build.build_id, says: build.build_id });
      if (!out.isJson) out.say(`Watch it with: outrider env log ${environment} ${build.build_id} -f`);
    }),
  );

export const buildsCommand = clientCommand("builds", "List an environment's builds, or show one.")
  .argument("<environment>", "its name or id")
  .argument("[build]", "its id")
  .action(
    withClient(async ({ client, out }, given, build) => {
      const environment = await environmentId(client, given as string);
      if (build !== undefined) return showBuild(out, await client.builds.get(environment, build));
      const document = await client.builds.list(environment);
      out.list<Build>({
        ...{ document, rows: document.builds, id: ({ build_id }) => build_id, none: "No builds." },
        columns: [
          { title: "BUILD", text: ({ build_id }) => build_id },
          { title: "STATE", text: ({ state }) => state },
          { title: "VERSION", text: ({ version }) => String(version) },
          { title: "SIZE", text: ({ size_bytes }) => (size_bytes === undefined ? "" : bytes(size_bytes)) },
          { title: "CREATED", text: ({ created_at }) => (out.isTerminal ? ago(created_at) : created_at) },
          { title: "MESSAGE", text: ({ status_message }) => status_message?.message, gives: true },
        ],
      });
    }),
  );

interface LogFlags {
  follow?: true;
}

export const logCommand = clientCommand("log", "Show the log of a build, of the latest where none is named.")
  .argument("<environment>", "its name or id")
  .argument("[build]", "its id")
  .option("-f, --follow", "until it is finished")
  .action(
    withClient<LogFlags>(async (context, given, named) => {
      const { client, out, flags } = context;
      const environment = await environmentId(client, given as string);
      const build = named ?? (await client.builds.list(environment)).builds[0]?.build_id;
      if (build === undefined)
        throw new Complaint("It has no builds yet: `outrider env build` makes one.", {
          exit: exits.notFound,
        });
      if (flags.follow) return followBuild(context, environment, build);
      const events = await gather(client.builds.events(environment, build, { limit: 1_000 }));
      if (out.isJson) return out.document({ build_id: build, events });
      for (const event of events) process.stdout.write(lineOf(event, out.style));
    }),
  );

async function followBuild({ client, out }: Context<LogFlags>, environment: string, build: string) {
  const stream = client.builds.stream(environment, build);
  let isInterrupted = false;
  const interrupt = () => {
    isInterrupted = true;
    stream.close();
  };
  process.on("SIGINT", interrupt);
  try {
    for await (const event of stream) {
      if (out.isJson) out.line(event);
      else process.stdout.write(lineOf(event, out.style));
    }
  } finally {
    process.off("SIGINT", interrupt);
  }
  if (isInterrupted) {
    process.exitCode = exits.interrupted;
    return out.say(`Detached; the build goes on: outrider env log ${environment} ${build} -f`);
  }
  const { state, status_message } = await client.builds.get(environment, build);
  if (state === "FAILED") process.exitCode = exits.failed;
  if (!out.isJson) out.say(harmless(`${state}${status_message ? `: ${status_message.message}` : ""}`));
}

function lineOf({ type, data }: BuildEvent, style: Style): string {
  if (type === "output" && "text" in data) return style.dim(harmless(data.text));
  if (type === "step" && "name" in data) {
    const took = data.duration_ms === undefined ? "" : style.dim(` · ${duration(data.duration_ms)}`);
    const exit = data.exit_code ? style.red(` exit ${data.exit_code}`) : "";
    const marks = { started: style.cyan("▸"), finished: style.green("✓"), failed: style.red("✗") };
    return `${marks[data.state]} ${harmlessLine(data.name)}${exit}${took}\n`;
  }
  return "message" in data ? `${style.yellow("!")} ${harmless(data.message)}\n` : "";
}

function showBuild(out: Output, build: Build): void {
  out.item({
    document: build,
    id: build.build_id,
    members: [
      ["build", build.build_id],
      ["state", build.state],
      ["version", String(build.version)],
      ["message", build.status_message?.message],
      ["remedy", build.status_message?.remedy],
      ["created", build.created_at],
      ["finished", build.finished_at],
      ["size", build.size_bytes === undefined ? undefined : bytes(build.size_bytes)],
      ["commits", build.repositories?.map(({ url, commit }) => `${commit} ${url}`).join("\n")],
    ],
  });
}
