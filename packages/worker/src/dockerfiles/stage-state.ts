import { posix } from "node:path";
import { defaultPath } from "../sandboxes/paths.ts";
import type { SandboxImage } from "../sandboxes/sandbox.ts";
import type { Instruction } from "./instructions.ts";
import type { Dockerfile } from "./parse.ts";
import { type ExpandOptions, expandText, expandWord } from "./words.ts";

const MAX_VARIABLES = 200;
const MAX_VARIABLE_CHARACTERS = 256 * 1024;
const defaultShell = ["/bin/sh", "-c"];

/** The settings that instructions change and that later instructions use. */
export class StageState {
  readonly #file: Dockerfile;
  readonly #args = new Map<string, string>();
  readonly #env: Map<string, string>;
  user: string;
  workingFolder: string;
  shell = defaultShell;

  constructor(file: Dockerfile, from: SandboxImage | StageState) {
    this.#file = file;
    this.#env = new Map(from instanceof StageState ? from.#env : Object.entries(from.env));
    this.user = from.user;
    this.workingFolder = from.workingFolder ?? "/";
    if (from instanceof StageState) this.shell = from.shell;
  }

  get env(): Record<string, string> {
    return Object.fromEntries(this.#env);
  }

  /** The variables of RUN instructions. */
  get commandVariables(): Record<string, string> {
    return { PATH: defaultPath, ...Object.fromEntries(this.#args), ...this.env };
  }

  expand(word: string): string {
    return expandWord(word, this.#expandOptions());
  }

  expandContent(text: string): string {
    return expandText(text, this.#expandOptions());
  }

  #expandOptions(): ExpandOptions {
    const { escapeCharacter } = this.#file;
    return { escapeCharacter, lookup: (name) => this.#env.get(name) ?? this.#args.get(name) };
  }

  /** Returns an absolute path. A slash at the end stays, because it marks a folder. */
  resolve(path: string): string {
    const resolved = posix.resolve(this.workingFolder, path);
    return /(^|\/)\.?$/.test(path) && resolved !== "/" ? `${resolved}/` : resolved;
  }

  /** Applies an instruction that changes only settings. */
  apply(instruction: Instruction): void {
    if (instruction.type === "env") {
      // All values of an instruction see the variables before it.
      const values = instruction.pairs.map(([name, word]) => [name, this.expand(word)] as const);
      for (const [name, value] of values) this.#env.set(name, value);
      this.#requireBounds();
    } else if (instruction.type === "arg") {
      for (const [name, word] of instruction.pairs) this.#declare(name, word);
    } else if (instruction.type === "user") {
      const user = this.expand(instruction.value).trim();
      if (!/^[A-Za-z0-9_][\w.-]{0,63}\$?(:[\w.-]{1,64})?$/.test(user))
        throw new Error(`"${user.slice(0, 100)}" is not a user.`);
      this.user = user;
    } else if (instruction.type === "shell") this.shell = instruction.words;
  }

  #declare(name: string, word: string | undefined): void {
    const { args, globalArgs } = this.#file;
    const given = Object.hasOwn(args, name) ? args[name] : undefined;
    const value = given ?? (word === undefined ? globalArgs.get(name) : this.expand(word));
    if (value !== undefined) this.#args.set(name, value);
    this.#requireBounds();
  }

  #requireBounds(): void {
    const all = [...this.#env, ...this.#args];
    const characters = all.reduce((sum, [name, value]) => sum + name.length + value.length, 0);
    if (all.length > MAX_VARIABLES || characters > MAX_VARIABLE_CHARACTERS)
      throw new Error(`There are more than ${MAX_VARIABLES} variables, or they have more than 256 KiB.`);
  }
}
