import type { CloudEnvironment, EnvironmentRepository } from "@outrider/sdk";
import { clientCommand, withClient } from "../../client-command.ts";
import { labelsText } from "../../input/labels.ts";
import { findEnvironment } from "../../input/resolve-names.ts";
import { pairs } from "../../terminal/format.ts";
import type { Output } from "../../terminal/output.ts";

export const listCommand = clientCommand("list", "List environments.")
  .alias("ls")
  .action(
    withClient(async ({ client, out }) => {
      const document = await client.environments.list();
      const { environments } = document;
      out.list<CloudEnvironment>({
        ...{
          document,
          rows: environments,
          id: ({ environment_id }) => environment_id,
          emptyMessage: "No environments.",
        },
        columns: [
          { title: "ENVIRONMENT", text: ({ environment_id }) => environment_id },
          { title: "NAME", text: ({ name }) => name },
          { title: "VERSION", text: ({ version }) => String(version) },
          { title: "BUILD", text: ({ build }) => build?.state },
          { title: "NETWORK", text: ({ network }) => network.mode },
          {
            title: "REPOSITORIES",
            text: ({ repos }) => repos.map(repositoryText).join(", "),
            canShrink: true,
          },
        ],
      });
    }),
  );

export const getCommand = clientCommand("get", "Show an environment.")
  .alias("view")
  .argument("<environment>", "environment name or ID")
  .action(
    withClient(async ({ client, out }, environment) =>
      showEnvironment(out, await findEnvironment(client, environment as string)),
    ),
  );

export function showEnvironment(out: Output, environment: CloudEnvironment): void {
  const { network, resources = {}, build, git_author } = environment;
  out.item({
    document: environment,
    id: environment.environment_id,
    fields: [
      ["environment", environment.environment_id],
      ["name", environment.name],
      ["description", environment.description],
      ["version", String(environment.version)],
      ["build", build && `${build.state} ${build.build_id}`],
      ["message", build?.status_message?.message],
      ["image", environment.docker_image],
      ["devcontainer", environment.devcontainer],
      ["dockerfile", environment.dockerfile?.path],
      ["context", environment.dockerfile?.context],
      ["target", environment.dockerfile?.target],
      ["build args", environment.dockerfile?.args && pairs(environment.dockerfile.args)],
      ["image secret", environment.docker_image_secret],
      ["user", environment.user],
      ["repositories", environment.repos.map(repositoryText).join("\n")],
      ["setup", environment.setup_commands.join("\n")],
      ["start", environment.start_commands.join("\n") || undefined],
      ["checks", environment.checks?.map(({ name, command }) => name ?? command).join("\n")],
      ["variables", pairs(environment.variables)],
      ["secrets", environment.secrets.join(", ")],
      ["build secrets", environment.build_secrets.join(", ") || undefined],
      ["network", [network.mode, ...(network.allow ?? [])].join(" ")],
      ["resources", pairs(resources)],
      ["git author", git_author && `${git_author.name} <${git_author.email}>`],
      ["harness", environment.harness],
      ["sandbox", environment.sandbox],
      ["worker pool", environment.worker_host],
      ["worker labels", environment.worker_selector && labelsText(environment.worker_selector)],
      ["timeout", environment.timeout_minutes && `${environment.timeout_minutes} min`],
      ["max concurrent runs", environment.max_concurrent_runs?.toString()],
      ["updated", environment.updated_at],
    ].map(([name, value]) => [name as string, value === undefined ? undefined : String(value)]),
  });
}

function repositoryText({ url, owner, repo, ref, path, ...checkout }: EnvironmentRepository): string {
  const { submodules, lfs, sparse_paths } = checkout;
  const options = [
    ...(sparse_paths ? [`only ${sparse_paths.join(", ")}`] : []),
    ...(submodules === false ? ["no submodules"] : []),
    ...(lfs === false ? ["no Git LFS files"] : []),
  ];
  const location = `${url ?? `${owner}/${repo}`}${ref ? `#${ref}` : ""}${path ? ` in ${path}` : ""}`;
  return options.length > 0 ? `${location} (${options.join("; ")})` : location;
}
