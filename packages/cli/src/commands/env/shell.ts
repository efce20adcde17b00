import { clientCommand, withClient } from "../../client-command.ts";
import { UsageError } from "../../exit-codes.ts";
import { findEnvironmentId } from "../../input/resolve-names.ts";
import { ShellSession } from "../../shell/shell-session.ts";
import { formatStep } from "./builds.ts";

export const shellCommand = clientCommand(
  "shell",
  "Open a shell in an environment's sandbox, to debug its build.",
)
  .argument("<environment>", "environment name or ID")
  .addHelpText(
    "after",
    `
If the latest build failed, its steps run again, and the shell opens where the first one fails. Nothing is stored.
The exit code is that of the shell. Press Enter ~ . to disconnect. Commands can also be piped: echo ls | outrider env shell NAME`,
  )
  .action(
    withClient(async ({ client, out }, given) => {
      if (out.isJson) throw new UsageError("`outrider env shell` does not support --json.");
      const environment = await findEnvironmentId(client, given as string);
      const session = new ShellSession({
        ...{ client, out, environment },
        formatStep: ({ data }) => formatStep(data, out.errorStyle),
      });
      process.exitCode = await session.run();
    }),
  );
