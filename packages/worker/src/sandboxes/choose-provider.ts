import { openProvider, type ProviderOptions, sandboxKinds } from "./open-provider.ts";
import type { SandboxProvider } from "./sandbox.ts";

/** What operators can choose. `auto` means local sandboxes or, where they cannot work, containers of an engine. */
export const sandboxChoices = ["auto", ...sandboxKinds] as const;
export type SandboxChoice = (typeof sandboxChoices)[number];

/** Parses the operator's choice. `setting` is the name of the option, for the error message. */
export function parseSandboxChoice(text: string, setting: string): SandboxChoice {
  const choice = sandboxChoices.find((known) => known === text);
  if (choice) return choice;
  const others = sandboxChoices.slice(0, -1).join(", ");
  throw new Error(`${setting} must be ${others} or ${sandboxChoices.at(-1)}, not "${text}".`);
}

/** Opens the provider that the operator chose. With `auto`, a log line says why it uses containers. */
export async function openChosenProvider(
  choice: SandboxChoice,
  options: ProviderOptions,
  open = openProvider,
): Promise<SandboxProvider> {
  if (choice !== "auto") return await open(choice, options);
  let localError: Error;
  try {
    return await open("local", options);
  } catch (error) {
    localError = error as Error;
  }
  const provider = await open("docker", options).catch((error: Error) => {
    throw new Error(
      `No sandbox can start on this machine. Local sandboxes: ${endSentence(localError.message)} Containers: ${endSentence(error.message)} Fix either of them.`,
      { cause: localError },
    );
  });
  options.log.info(
    { ...provider.describe?.(), reason: localError.message },
    "using containers, because local sandboxes cannot work on this machine",
  );
  return provider;
}

const endSentence = (text: string) => (/[.!?]$/.test(text) ? text : `${text}.`);
