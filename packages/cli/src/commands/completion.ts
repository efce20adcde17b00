import { Argument, Command } from "commander";
import { bashCompletion } from "../completion/bash.ts";
import { fishCompletion } from "../completion/fish.ts";
import { completionTable } from "../completion/table.ts";
import { zshCompletion } from "../completion/zsh.ts";

const shells = { bash: bashCompletion, zsh: zshCompletion, fish: fishCompletion };

const how = `
  bash  eval "$(outrider completion bash)"   in ~/.bashrc
  zsh   eval "$(outrider completion zsh)"    in ~/.zshrc, behind compinit
  fish  outrider completion fish | source    in ~/.config/fish/config.fish`;

export const completionCommand = new Command("completion")
  .description("Print the completion for a shell.")
  .addArgument(new Argument("<shell>").choices(Object.keys(shells)))
  .addHelpText("after", how)
  .action((shell: keyof typeof shells, _, command: Command) => {
    const { parent: program } = command;
    if (program) process.stdout.write(shells[shell](completionTable(program)));
  });
