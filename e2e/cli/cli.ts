import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { type Running, root, watch } from "../process.ts";

/** Runs `bin/outrider` in tests, through pipes or in a pseudo-terminal. */

export interface CliOptions {
  /** Content of stdin. */
  input?: string | Buffer;
  environment?: Record<string, string>;
  cwd?: string;
}

export interface CliResult {
  code: number | null;
  stdout: string;
  stderr: string;
  /** The JSON document on stdout. */
  // biome-ignore lint/suspicious/noExplicitAny: tests read responses of every shape
  json: any;
}

export interface Terminal extends Running {
  type(keys: string): void;
  resize(rows: number, columns: number): void;
  /** Everything shown so far, without colors and cursor movements. */
  text(): string;
}

export interface Cli extends Disposable {
  /** Home directory, which contains the configuration. */
  home: string;
  (args: string[], options?: CliOptions): Promise<CliResult>;
  start(args: string[], options?: CliOptions): Running;
  terminal(args: string[], options?: CliOptions & { columns?: number }): Terminal;
}

/** Creates a CLI with its own home directory and the given environment variables. */
export function createCli(variables: Record<string, string> = {}): Cli {
  const home = mkdtempSync(join(tmpdir(), "outrider-cli-"));
  const bin = join(root, "bin/outrider");

  function open(command: string[], { environment = {}, cwd = home }: CliOptions) {
    const inherited = Object.entries(process.env).filter(
      ([name]) => !/^(OUTRIDER_|NO_COLOR|FORCE_COLOR|TERM$|BROWSER|XDG_|VITEST|CI$)/.test(name),
    );
    const env = {
      ...Object.fromEntries(inherited),
      ...{ HOME: home, XDG_CONFIG_HOME: join(home, "config"), TERM: "xterm-256color" },
      ...variables,
      ...environment,
    };
    return spawn(command[0] as string, command.slice(1), { cwd, env, stdio: "pipe" });
  }

  const start = (args: string[], options: CliOptions = {}) => {
    const child = open([bin, ...args], options);
    child.stdin.on("error", () => {}); // The command may exit without reading stdin.
    child.stdin.end(options.input ?? "");
    return watch(child, `outrider ${args.join(" ")}`);
  };

  const cli = async (args: string[], options: CliOptions = {}) => {
    const running = start(args, options);
    const { code } = await running.ended;
    const stdout = running.stdout();
    return {
      ...{ code, stdout, stderr: running.stderr() },
      get json() {
        return JSON.parse(stdout);
      },
    };
  };

  const terminal = (args: string[], options: CliOptions & { columns?: number } = {}): Terminal => {
    const python = join(root, ".tools/python/bin/python");
    const script = join(import.meta.dirname, "terminal.py");
    const child = open([python, script, String(options.columns ?? 100), bin, ...args], options);
    child.stdin.on("error", () => {});
    const running = watch(child, `outrider ${args.join(" ")}`);
    return {
      ...running,
      type: (keys) => void child.stdin.write(keys),
      resize: (rows, columns) => void child.stdin.write(`\0resize ${rows} ${columns}\n`),
      text: () => stripVTControlCharacters(running.stdout()).replaceAll("\r\n", "\n"),
    };
  };

  return Object.assign(cli, {
    ...{ home, start, terminal },
    [Symbol.dispose]: () => rmSync(home, { recursive: true, force: true }),
  });
}
