import type { Outrider } from "@outrider/sdk";
import { Command } from "commander";
import { type ConnectionFlags, connect } from "./connection.ts";
import { addGlobalOptions } from "./global-options.ts";
import { Output, type OutputFlags } from "./terminal/output.ts";

export type GlobalFlags = ConnectionFlags & OutputFlags;

export function clientCommand(name: string, description: string): Command {
  return addGlobalOptions(new Command(name).description(description));
}

/** Returns the global flags that were passed to a command or its parents. */
export function globalFlags(command: Command): GlobalFlags {
  const all: GlobalFlags = { color: true };
  for (let current: Command | null = command; current; current = current.parent) {
    const { json, jq, quiet, color, profile, server } = current.opts<GlobalFlags>();
    if (json) all.json = true;
    if (quiet) all.quiet = true;
    if (color === false) all.color = false;
    // A flag closer to the command takes precedence.
    if (jq !== undefined) all.jq ??= jq;
    if (profile !== undefined) all.profile ??= profile;
    if (server !== undefined) all.server ??= server;
  }
  return all;
}

export interface Context<Flags> {
  client: Outrider;
  out: Output;
  flags: Flags;
}

/** Creates the action of a command that calls the API. */
export function withClient<Flags = object>(
  work: (context: Context<Flags>, ...args: string[]) => Promise<void>,
) {
  return async (...given: unknown[]): Promise<void> => {
    const command = given.at(-1) as Command;
    const flags = given.at(-2) as Flags;
    const globals = globalFlags(command);
    const out = new Output(globals);
    await out.prepare();
    await work({ client: await connect(globals), out, flags }, ...(given.slice(0, -2) as string[]));
    await out.finish();
  };
}
