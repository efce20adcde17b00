import { Argument, Command } from "commander";
import { bashCompletion } from "../completion/bash.ts";
import { fishCompletion } from "../completion/fish.ts";
import { powershellCompletion } from "../completion/powershell.ts";
import { completionTable } from "../completion/table.ts";
import { zshCompletion } from "../completion/zsh.ts";

const shells = {
  bash: bashCompletion,
  zsh: zshCompletion,
  fish: fishCompletion,
  powershell: powershellCompletion,
};

const setupInstructions = `
  bash        eval "$(outrider completion bash)"   in ~/.bashrc
  zsh         eval "$(outrider completion zsh)"    in ~/.zshrc, after compinit
  fish        outrider completion fish | source    in ~/.config/fish/config.fish
  powershell  outrider completion powershell | Out-String | Invoke-Expression   in $PROFILE`;

export const completionCommand = new Command("completion")
  .description("Generate a shell completion script.")
  .addArgument(new Argument("<shell>").choices(Object.keys(shells)))
  .addHelpText("after", setupInstructions)
  .action((shell: keyof typeof shells, _, command: Command) => {
    const { parent: program } = command;
    if (program) process.stdout.write(shells[shell](completionTable(program)));
  });
