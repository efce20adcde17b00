import { defaultPath, sandboxPaths } from "../paths.ts";

const { home } = sandboxPaths;

/** The environment of every command without an image, and of the worker's own scripts. */
export const baseEnvironment: Record<string, string> = {
  PATH: defaultPath,
  HOME: home,
  USER: "sandbox",
  LOGNAME: "sandbox",
  SHELL: "/bin/bash",
  LANG: "C.UTF-8",
  TERM: "dumb",
};

/** Where pip, npm, go and cargo install programs for a user. */
export const homeFolders = [`${home}/.local/bin`, `${home}/go/bin`, `${home}/.cargo/bin`];
