import type { Build, BuildEvent, BuildStepEvent } from "@outrider/sdk";
import type { Context } from "../../client-command.ts";
import { clientCommand, withClient } from "../../client-command.ts";
import { exits, UsageError } from "../../exit-codes.ts";
import { collectPages } from "../../input/collect-pages.ts";
import { findEnvironmentId } from "../../input/resolve-names.ts";
import { ago, bytes, duration } from "../../terminal/format.ts";
import type { Output } from "../../terminal/output.ts";
import { sanitize, sanitizeLine } from "../../terminal/sanitize.ts";
import type { Style } from "../../terminal/style.ts";

export const buildCommand = clientCommand("build", "Rebuild an environment, without waiting for a run.")
  .argument("<environment>", "environment name or ID")
  .option("-f, --follow", "follow the log until the build is finished")
  .action(
    withClient<{ follow?: true }>(async (context, given) => {
      const { client, out, flags } = context;
      const environment = await findEnvironmentId(client, given as string);
      const build = await client.builds.create(environment);
      if (flags.follow) return followBuild(context, environment, build.build_id);
      out.done({ document: build, id: build.build_id, message: build.build_id });
      if (!out.isJson) out.note(`Follow it with: outrider env log ${environment} ${build.build_id} -f`);
    }),
  );

export const buildsCommand = clientCommand("builds", "List the builds of an environment, or show one build.")
  .argument("<environment>", "environment name or ID")
  .argument("[build]", "build ID")
  .action(
    withClient(async ({ client, out }, given, build) => {
      const environment = await findEnvironmentId(client, given as string);
      if (build !== undefined) return showBuild(out, await client.builds.get(environment, build));
      const document = await client.builds.list(environment);
      out.list<Build>({
        ...{ document, rows: document.builds, id: ({ build_id }) => build_id, emptyMessage: "No builds." },
        columns: [
          { title: "BUILD", text: ({ build_id }) => build_id },
          { title: "STATE", text: ({ state }) => state },
          { title: "VERSION", text: ({ version }) => String(version) },
          { title: "SIZE", text: ({ size_bytes }) => (size_bytes === undefined ? "" : bytes(size_bytes)) },
          { title: "IMAGE", text: ({ image }) => image && imageText(image) },
          { title: "CREATED", text: ({ created_at }) => (out.isTerminal ? ago(created_at) : created_at) },
          { title: "MESSAGE", text: ({ status_message }) => status_message?.message, canShrink: true },
        ],
      });
    }),
  );

interface LogFlags {
  follow?: true;
}

export const logCommand = clientCommand("log", "Show the log of a build. Default: the latest build.")
  .argument("<environment>", "environment name or ID")
  .argument("[build]", "build ID")
  .option("-f, --follow", "follow the log until the build is finished")
  .action(
    withClient<LogFlags>(async (context, given, named) => {
      const { client, out, flags } = context;
      const environment = await findEnvironmentId(client, given as string);
      const build = named ?? (await client.builds.list(environment)).builds[0]?.build_id;
      if (build === undefined)
        throw new UsageError("The environment has no builds yet. Run `outrider env build` to create one.", {
          exit: exits.notFound,
        });
      if (flags.follow) return followBuild(context, environment, build);
      const events = await collectPages(client.builds.events(environment, build, { limit: 1_000 }));
      if (out.isJson) return out.document({ build_id: build, events });
      for (const event of events) process.stdout.write(formatEvent(event, out.style));
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
      else process.stdout.write(formatEvent(event, out.style));
    }
  } finally {
    process.off("SIGINT", interrupt);
  }
  if (isInterrupted) {
    process.exitCode = exits.interrupted;
    return out.note(`Detached. The build continues: outrider env log ${environment} ${build} -f`);
  }
  const { state, status_message } = await client.builds.get(environment, build);
  if (state === "FAILED") process.exitCode = exits.failed;
  if (!out.isJson) out.note(sanitize(`${state}${status_message ? `: ${status_message.message}` : ""}`));
}

function formatEvent({ type, data }: BuildEvent, style: Style): string {
  if (type === "output") return style.dim(sanitize(data.text));
  if (type === "step") return formatStep(data, style);
  // A newer server may send events of other types.
  return type === "notice" ? `${style.yellow("!")} ${sanitize(data.message)}\n` : "";
}

/** Shows enough of the digest to recognize it. */
function imageText({ reference, digest }: NonNullable<Build["image"]>): string {
  return `${reference.replace(/@sha256:.*$/, "")}@${digest.slice(0, 19)}`;
}

export function formatStep(data: BuildStepEvent["data"], style: Style): string {
  const took = data.duration_ms === undefined ? "" : style.dim(` · ${duration(data.duration_ms)}`);
  const size = data.size_bytes === undefined ? "" : style.dim(` · ${bytes(data.size_bytes)}`);
  const exit = data.exit_code ? style.red(` exit ${data.exit_code}`) : "";
  const marks = { started: style.cyan("▸"), finished: style.green("✓"), failed: style.red("✗") };
  return `${marks[data.state]} ${sanitizeLine(data.name)}${exit}${size}${took}\n`;
}

function showBuild(out: Output, build: Build): void {
  out.item({
    document: build,
    id: build.build_id,
    fields: [
      ["build", build.build_id],
      ["state", build.state],
      ["version", String(build.version)],
      ["message", build.status_message?.message],
      ["remedy", build.status_message?.remedy],
      ["created", build.created_at],
      ["finished", build.finished_at],
      ["size", build.size_bytes === undefined ? undefined : bytes(build.size_bytes)],
      ["image", build.image && `${build.image.reference}\n${build.image.digest}`],
      ["commits", build.repositories?.map(({ url, commit }) => `${commit} ${url}`).join("\n")],
    ],
  });
}
