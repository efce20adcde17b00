import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { type Running, root, watch } from "../process.ts";

/** `bin/outrider` as a person and a program use it: through a terminal, and through pipes. */

export interface CliOptions {
  /** What comes on stdin. */
  input?: string | Buffer;
  environment?: Record<string, string>;
  cwd?: string;
}

export interface Said {
  code: number | null;
  stdout: string;
  stderr: string;
  /** The document on stdout. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  json: any;
}

export interface Terminal extends Running {
  type(keys: string): void;
  /** All that was shown, without colours and movements. */
  text(): string;
}

export interface Cli extends Disposable {
  /** A folder of its own, where its config lies. */
  home: string;
  (args: string[], options?: CliOptions): Promise<Said>;
  start(args: string[], options?: CliOptions): Running;
  terminal(args: string[], options?: CliOptions & { columns?: number }): Terminal;
}

/** With a home of its own, and with these variables. */
export function makeCli(own: Record<string, string> = {}): Cli {
  const home = mkdtempSync(join(tmpdir(), "outrider-cli-"));
  const bin = join(root, "bin/outrider");

  function open(command: string[], { environment = {}, cwd = home }: CliOptions) {
    const inherited = Object.entries(process.env).filter(
      ([name]) => !/^(OUTRIDER_|NO_COLOR|FORCE_COLOR|TERM$|BROWSER|XDG_|VITEST|CI$)/.test(name),
    );
    const env = {
      ...Object.fromEntries(inherited),
      ...{ HOME: home, XDG_CONFIG_HOME: join(home, "config"), TERM: "xterm-256color" },
      ...own,
      ...environment,
    };
    return spawn(command[0] as string, command.slice(1), { cwd, env, stdio: "pipe" });
  }

  const start = (args: string[], options: CliOptions = {}) => {
    const child = open([bin, ...args], options);
    child.stdin.on("error", () => {}); // It may end without reading.
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
      text: () => stripVTControlCharacters(running.stdout()).replaceAll("\r\n", "\n"),
    };
  };

  return Object.assign(cli, {
    ...{ home, start, terminal },
    [Symbol.dispose]: () => rmSync(home, { recursive: true, force: true }),
  });
}
