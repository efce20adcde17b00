import type { Command, CommanderError } from "commander";

type Phrase = (match: RegExpExecArray, command: Command) => string;

/** Commander's messages, and how to say the same in a sentence. */
const phrases: [pattern: RegExp, phrase: Phrase][] = [
  [/^missing required argument '(.*)'$/, ([, name]) => `The argument <${name}> is missing.`],
  [/^option '(.*)' argument missing$/, ([, flags]) => `${long(flags)} requires a value.`],
  [
    /^option '(.*)' cannot be used with option '(.*)'$/,
    ([, one, other]) => `${long(one)} cannot be combined with ${long(other)}.`,
  ],
  [/^unknown option '(.*)'$/, ([, flag]) => `Unknown option ${flag}.`],
  [/^unknown command '(.*)'$/, ([, name]) => `Unknown command ${JSON.stringify(name)}.`],
  [
    /^too many arguments.* Expected (\d+) arguments? but got (\d+)/,
    ([, expected, got], command) =>
      `\`${pathOf(command)}\` accepts ${expected === "0" ? "no arguments" : `${expected} argument${expected === "1" ? "" : "s"}`}, but got ${got}. Quote text that contains spaces.`,
  ],
  [
    /^option '(.*)' argument '(.*)' is invalid\. Allowed choices are (.*)\.$/s,
    ([, flags, value, choices]) => `${long(flags)} must be ${list(choices)}, not ${JSON.stringify(value)}.`,
  ],
  [
    /^command-argument value '(.*)' is invalid for argument '(.*)'\. Allowed choices are (.*)\.$/s,
    ([, value, name, choices]) => `<${name}> must be ${list(choices)}, not ${JSON.stringify(value)}.`,
  ],
];

/** Returns what is wrong with a command line, in a sentence. */
export function usageMessage(error: CommanderError, command: Command): string {
  const [, text = "", suggestion] = /^(?:error: )?(.*?)(?:\n\((.*)\))?$/s.exec(error.message) ?? [];
  for (const [pattern, phrase] of phrases) {
    const match = pattern.exec(text);
    if (match) return [phrase(match, command), suggestion].filter(Boolean).join(" ");
  }
  const sentence = `${text[0]?.toUpperCase() ?? ""}${text.slice(1)}`.replace(/[^.?]$/, "$&.");
  return [sentence, suggestion].filter(Boolean).join(" ");
}

export function pathOf(command: Command): string {
  return command.parent ? `${pathOf(command.parent)} ${command.name()}` : command.name();
}

/** Returns the long form of an option: `--follow` for `-f, --follow`. */
function long(flags = ""): string {
  return /--[\w-]+/.exec(flags)?.[0] ?? flags;
}

function list(choices = ""): string {
  return choices.replace(/, ([^,]*)$/, " or $1");
}
