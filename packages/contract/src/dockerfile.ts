import { z } from "zod";
import { pattern, text, VariableName } from "./text.ts";

const RepositoryPath = pattern(
  /^(?![/-])(?!(.*\/)?(\.|\.\.|\.git)?(\/|$))[^\p{Cc}\\:]{1,240}$/u,
  "must be the relative path of a file in the first repository, such as `Dockerfile`",
);

const ContextPath = pattern(
  /^(\.|(?![/-])(?!(.*\/)?(\.|\.\.|\.git)?(\/|$))[^\p{Cc}\\:]{1,240})$/u,
  "must be the relative path of a folder in the first repository, or `.`",
);

/** A Dockerfile in a repository. */
export const DockerfileSource = z
  .strictObject({
    path: RepositoryPath.meta({ description: "Path of the file in the first repository." }),
    context: ContextPath.optional().meta({
      description: "The folder whose files COPY and ADD use. Default: `.`, the whole repository.",
    }),
    target: pattern(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$/, "must be the name of a stage")
      .optional()
      .meta({ description: "The stage to build. Default: the last one." }),
    args: z
      .record(VariableName, text({ min: 0, max: 8_192 }))
      .refine((args) => Object.keys(args).length <= 50, "must have at most 50 arguments")
      .optional()
      .meta({
        description:
          "Values of ARG instructions. They are visible in the build; use `build_secrets` for secrets.",
      }),
  })
  .meta({ id: "EnvironmentDockerfile" });
export type DockerfileSource = z.infer<typeof DockerfileSource>;
