import { z } from "zod";
import { BuildSummary } from "./build.ts";
import { eitherFields } from "./conditions.ts";
import { DevcontainerPath } from "./devcontainer.ts";
import { DockerfileSource } from "./dockerfile.ts";
import { HarnessName } from "./harness.ts";
import { ImageReference, ImageUser } from "./image.ts";
import { limits } from "./limits.ts";
import { GitAuthor, PublishPolicy } from "./publish-policy.ts";
import { SandboxKind } from "./sandbox-kind.ts";
import { pattern, Timestamp, text, Uuid, VariableName } from "./text.ts";
import { PoolName, WorkerLabels } from "./worker-pool.ts";

const RepositoryPart = pattern(/^[A-Za-z0-9_.-]{1,100}$/, "must be letters, digits, `.`, `_` or `-`");

const repositoryUrl = /^(https:\/\/|ssh:\/\/|file:\/\/\/)[^\s]+$|^[A-Za-z0-9_.-]+@[A-Za-z0-9.-]+:[^\s]+$/;

export const Repository = z
  .strictObject({
    url: pattern(
      repositoryUrl,
      "must be an https or ssh URL of a git repository, or a `file:///` path that the operator of the workers allows",
    )
      .max(2_048)
      .refine(
        (url) => !/^(https:\/\/[^/]*@|ssh:\/\/[^/:]*:[^/]*@)/.test(url),
        "must not contain credentials; store them as a secret",
      )
      .optional(),
    owner: RepositoryPart.optional(),
    repo: RepositoryPart.optional(),
    ref: pattern(/^(?!-)[^\s~^:?*[\\\p{Cc}]{1,250}$/u, "must be a branch, tag or commit").optional(),
    path: pattern(
      /^(?!\/)(?!.*(^|\/)\.\.(\/|$))[^\p{Cc}]{1,250}$/u,
      "must be a relative path inside the workspace",
    )
      .optional()
      .meta({
        description: "Path in the workspace. Default: the name of the repository.",
      }),
    secret: VariableName.optional().meta({
      description:
        "Name of the secret used to fetch the repository: a token (or `user:token`) for https, a private key for ssh. The secret never enters a sandbox.",
    }),
    submodules: z.boolean().optional().meta({
      description:
        "Whether submodules are checked out, recursively. Default: true. The repository's secret is used for submodules on the same host. For others, add a repository with the submodule's URL and a secret.",
    }),
    lfs: z.boolean().optional().meta({
      description:
        "Whether Git LFS files are downloaded, also those of submodules. Otherwise, they remain pointers. Default: true.",
    }),
    sparse_paths: z
      .array(
        pattern(
          /^(?![-#!/])(?!(.*\/)?(\.|\.\.|\.git)?(\/|$))[^\p{Cc}*?[\]\\"]{1,250}$/u,
          "must be a folder in the repository, such as `packages/api`, without wildcards",
        ),
      )
      .min(1)
      .max(100)
      .refine((paths) => new Set(paths).size === paths.length, "must not contain duplicates")
      .optional()
      .meta({
        uniqueItems: true,
        description:
          "Folders to check out, for very large repositories. Files in the root folder and directly in parents of these folders are checked out too. The worker downloads only the files that the checkout needs, so that other folders and older versions of files are not available.",
      }),
    publish: PublishPolicy.optional().meta({
      description: "What runs may publish to the repository. Default: draft pull requests, on request.",
    }),
  })
  .superRefine(({ url, owner, repo }, context) => {
    const byUrl = url !== undefined && owner === undefined && repo === undefined;
    const byName = url === undefined && owner !== undefined && repo !== undefined;
    if (!byUrl && !byName) context.addIssue("must have either `url`, or `owner` and `repo`");
  })
  .meta({
    id: "EnvironmentRepository",
    ...eitherFields({ required: ["url"] }, { required: ["owner", "repo"] }),
  });

/** Names of tools. A worker replaces `preset:npm` with the hosts that its own npm is configured to use. */
export const networkPresets = ["npm", "pypi", "go", "crates", "maven", "debian", "git"] as const;
export type NetworkPreset = (typeof networkPresets)[number];

const presetList = networkPresets.map((name) => `\`preset:${name}\``).join(", ");
const port = "[1-9]\\d{0,3}|[1-5]\\d{4}|6[0-4]\\d{3}|65[0-4]\\d{2}|655[0-2]\\d|6553[0-5]";
const label = "[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?";
const domain = `(\\*\\.)?(${label}\\.)*${label}`;
const allowEntry = new RegExp(`^(preset:(${networkPresets.join("|")})|${domain}(:(${port}))?)$`, "i");

/** Says what is wrong with an entry of `network.allow`. Returns undefined for a valid entry. */
function allowEntryProblem(entry: string): string | undefined {
  const not = `not ${JSON.stringify(entry.slice(0, 100))}`;
  if (entry.length > 253) return "must have at most 253 characters";
  if (/^preset:/i.test(entry)) {
    const isKnown = networkPresets.some((name) => entry === `preset:${name}`);
    return isKnown ? undefined : `must be one of the presets ${presetList}, ${not}`;
  }
  if (allowEntry.test(entry)) return undefined;
  if (new RegExp(`^${domain}:\\d*$`, "i").test(entry)) return `must have a port between 1 and 65535, ${not}`;
  if (/^[a-z]+:\/\//i.test(entry)) return `must be a domain without a scheme and path, ${not}`;
  return `must be a domain such as \`example.com\` or \`*.example.com\`, a domain with a port such as \`db.example.com:5432\`, or a preset such as \`preset:npm\`, ${not}`;
}

const AllowEntry = z
  .string()
  .superRefine((entry, context) => {
    const problem = allowEntryProblem(entry);
    if (problem) context.addIssue({ code: "custom", message: problem });
  })
  .meta({ pattern: allowEntry.source, maxLength: 253 });

export const Network = z
  .strictObject({
    mode: z.enum(["open", "allowlist", "none"]),
    allow: z
      .array(AllowEntry)
      .max(500)
      .optional()
      .meta({
        description: `What runs can reach, for mode \`allowlist\`. A domain such as \`example.com\` or \`*.example.com\` (ports 22, 80 and 443), a domain with one port such as \`db.example.com:5432\`, or a preset for what the worker's own tools use: ${presetList}.`,
      }),
  })
  .superRefine(({ mode, allow }, context) => {
    if (mode !== "allowlist" && allow?.length) {
      context.addIssue({ code: "custom", path: ["allow"], message: "is only allowed with mode `allowlist`" });
    }
  })
  .meta({ id: "EnvironmentNetwork" });

export const Resources = z
  .strictObject({
    cpus: z.number().min(0.1).max(256).optional(),
    memory_mb: z.int().min(64).max(4_194_304).optional(),
    pids: z.int().min(16).max(4_194_304).optional(),
    disk_mb: z.int().min(16).max(16_777_216).optional(),
  })
  .meta({ id: "EnvironmentResources" });

export const EnvironmentCheck = z
  .strictObject({
    name: text({ max: 100 }).optional().meta({ description: "Default: the command." }),
    command: text({ max: 8_192 }).meta({
      description:
        "Command that prints its findings, one per line, and exits with a code other than 0 if there are any. `{files}` stands for the changed files.",
    }),
    globs: z
      .array(text({ max: 250 }))
      .min(1)
      .max(50)
      .meta({
        description: "The command runs after changes to files that match one of these, such as `*.ts`.",
      }),
  })
  .meta({ id: "EnvironmentCheck" });
export type EnvironmentCheck = z.infer<typeof EnvironmentCheck>;

export const Commands = z.array(text({ max: 8_192 })).max(50);

const SecretNames = z
  .array(VariableName)
  .max(100)
  .refine((names) => new Set(names).size === names.length, "must not contain duplicates");

const members = {
  name: text({ max: limits.nameCharacters }),
  description: text({ min: 0, max: 2_000 }).optional(),
  docker_image: ImageReference.optional().meta({
    description:
      "OCI image that provides the system. A tag is resolved for each new build. Default: the system of the worker, read-only.",
  }),
  devcontainer: DevcontainerPath.optional().meta({
    description:
      "Path of a devcontainer.json in the first repository, which names the image or Dockerfile, variables, user and commands. Replaces `docker_image`.",
  }),
  dockerfile: DockerfileSource.optional().meta({
    description:
      "Dockerfile in the first repository, whose last stage or `target` provides the system. Replaces `docker_image`.",
  }),
  docker_image_secret: VariableName.optional().meta({
    description:
      "Name of the secret with the registry's credentials: `user:password`, or the content of Docker's `config.json`. It never enters a sandbox.",
  }),
  user: ImageUser.optional().meta({
    description:
      "The user of the image that runs commands. Default: the user that the devcontainer.json, the Dockerfile or the image names, otherwise root. Setup commands always run as root.",
  }),
  repos: z.array(Repository).max(20).optional(),
  setup_commands: Commands.optional().meta({
    description: "Run once, in order, when the environment is built. Runs start from a copy of the result.",
  }),
  start_commands: Commands.optional().meta({
    description:
      "Run in order at each start of a sandbox, before the agent's first command, for example to start a database. Each must return within 120 seconds; processes that it leaves in the background keep running.",
  }),
  variables: z
    .record(VariableName, text({ min: 0, max: 32_768 }))
    .optional()
    .meta({ description: "Environment variables of all commands, including setup and start commands." }),
  secrets: SecretNames.optional().meta({
    uniqueItems: true,
    description: "Names of secrets that are available to the run as environment variables.",
  }),
  build_secrets: SecretNames.optional().meta({
    uniqueItems: true,
    description:
      "Names of secrets that are available to setup commands as environment variables. A build fails if one of their values remains in its files.",
  }),
  network: Network.optional().meta({ description: "Network access. Default: mode `none`." }),
  resources: Resources.optional(),
  git_author: GitAuthor.optional().meta({
    description:
      "Author of the commits that runs make. Default: the creator of the run. The committer is always Outrider.",
  }),
  checks: z.array(EnvironmentCheck).max(10).optional().meta({
    description:
      "Commands that run after the agent edits files. Their new findings are added to the result of the edit. This requires the harness `outrider`; the instructions of other agents list the commands.",
  }),
  harness: HarnessName.optional().meta({
    description:
      "Default harness for runs in this environment, if neither the run nor its cloud agent sets one.",
  }),
  sandbox: SandboxKind.optional().meta({
    description:
      "The kind of sandboxes in which workers build the environment and execute its runs. Default: any. A change applies to new runs.",
  }),
  worker_host: PoolName.optional().meta({
    description:
      "The pool whose workers build the environment and execute its runs. Default: `default`. A change applies to new runs.",
  }),
  worker_selector: WorkerLabels.optional().meta({
    description:
      "Labels that workers must have to build the environment and to execute its runs. A change applies to new runs.",
  }),
  timeout_minutes: z.int().min(1).max(10_080).optional().meta({ description: "Default timeout of a turn." }),
  max_concurrent_runs: z
    .int()
    .min(1)
    .max(100_000)
    .optional()
    .meta({ description: "Maximum number of concurrent runs in this environment." }),
};

/** The fields of which one can provide the system. */
const imageFields = ["docker_image", "devcontainer", "dockerfile"] as const;

export const EnvironmentRequest = z
  .strictObject(members)
  .superRefine(({ variables = {}, secrets = [], build_secrets = [], ...rest }, context) => {
    for (const field of ["docker_image_secret", "user"] as const) {
      if (rest[field] !== undefined && imageFields.every((source) => rest[source] === undefined)) {
        const message = "is only allowed with `docker_image`, `devcontainer` or `dockerfile`";
        context.addIssue({ code: "custom", path: [field], message });
      }
    }
    for (const field of ["devcontainer", "dockerfile"] as const) {
      if (rest[field] === undefined) continue;
      const addIssue = (message: string) => context.addIssue({ code: "custom", path: [field], message });
      if (rest.docker_image !== undefined)
        addIssue("is not allowed with `docker_image`; the file names the image");
      if (!rest.repos?.length)
        addIssue("is only allowed with a repository in `repos`, which contains the file");
    }
    if (rest.devcontainer !== undefined && rest.dockerfile !== undefined) {
      const message = "is not allowed with `devcontainer`; name it in `build` of the devcontainer.json";
      context.addIssue({ code: "custom", path: ["dockerfile"], message });
    }
    for (const [field, names] of Object.entries({ secrets, build_secrets })) {
      names.forEach((name, index) => {
        if (Object.hasOwn(variables, name)) {
          context.addIssue({
            code: "custom",
            path: [field, index],
            message: "must not also be the name of a variable",
          });
        }
      });
    }
  })
  .meta({
    id: "CloudEnvironmentRequest",
    examples: [
      {
        name: "api",
        repos: [{ owner: "acme", repo: "api", ref: "main" }],
        setup_commands: ["npm ci"],
        network: { mode: "allowlist", allow: ["preset:npm", "*.example.com"] },
      },
    ],
  });
export type EnvironmentRequest = z.infer<typeof EnvironmentRequest>;

export const CloudEnvironment = z
  .object({
    environment_id: Uuid,
    ...members,
    repos: z.array(Repository),
    setup_commands: z.array(z.string()),
    start_commands: z.array(z.string()),
    variables: z.record(z.string(), z.string()),
    secrets: z.array(z.string()),
    build_secrets: z.array(z.string()),
    network: Network,
    version: z.int().min(1).meta({ description: "Increases with every change." }),
    build: BuildSummary.optional(),
    created_at: Timestamp,
    updated_at: Timestamp,
  })
  .meta({
    id: "CloudEnvironment",
    description:
      "Where runs execute: repositories, setup and start commands, variables, secrets, network and resources.",
  });
export type CloudEnvironment = z.infer<typeof CloudEnvironment>;

export const ListEnvironmentsResponse = z
  .object({ environments: z.array(CloudEnvironment) })
  .meta({ id: "ListEnvironmentsResponse" });
