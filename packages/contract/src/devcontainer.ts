import { z } from "zod";
import { ImageUser } from "./image.ts";
import { pattern, text, VariableName } from "./text.ts";

/** The path of a devcontainer.json in a repository. */
export const DevcontainerPath = pattern(
  /^(?![/-])(?!(.*\/)?(\.|\.\.|\.git)?(\/|$))[^\p{Cc}\\]{1,240}\.json$/u,
  "must be the relative path of a file in the first repository, such as `.devcontainer/devcontainer.json`",
);

const Variables = z
  .record(VariableName, text({ min: 0, max: 32_768 }))
  .refine((variables) => Object.keys(variables).length <= 200, "must have at most 200 variables");

/**
 * What the runs of a build take from its devcontainer.json or its Dockerfile. In variables of a devcontainer.json,
 * `${containerEnv:NAME}` is not resolved yet.
 */
export const BuildDevcontainer = z.object({
  path: z.string(),
  blob_id: z.string().regex(/^[0-9a-f]{40,64}$/),
  user: ImageUser.optional(),
  container_env: Variables,
  remote_env: Variables,
  start_commands: z.array(z.string().max(131_072)).max(1),
  dockerfile: z
    .object({
      env: Variables,
      user: z.string().max(150),
      working_folder: z.string().max(4_096).optional(),
    })
    .optional()
    .meta({ description: "What its Dockerfile changes in the configuration of the image." }),
});
export type BuildDevcontainer = z.infer<typeof BuildDevcontainer>;
