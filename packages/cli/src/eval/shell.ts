import type { HiddenFile } from "./task.ts";

/** The size of a file's part in one shell command. Setup commands can have 8,192 characters. */
const PART_BYTES = 4_500;
const MAX_COMMAND_CHARACTERS = 8_000;

export function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** Returns shell commands that write a file. Base64 passes any content through any shell unchanged. */
export function writeFileCommands({ path, content, isExecutable }: HiddenFile): string[] {
  const target = quote(path);
  const parts = Array.from({ length: Math.ceil(content.length / PART_BYTES) }, (_, index) =>
    content.subarray(index * PART_BYTES, (index + 1) * PART_BYTES).toString("base64"),
  );
  return [
    `mkdir -p -- "$(dirname -- ${target})" && rm -rf -- ${target} && : > ${target}`,
    ...parts.map((part) => `printf %s ${part} | base64 -d >> ${target}`),
    ...(isExecutable ? [`chmod +x -- ${target}`] : []),
  ];
}

/** Joins commands into as few as possible. */
export function joinCommands(commands: string[]): string[] {
  const joined: string[] = [];
  for (const command of commands) {
    const last = joined.at(-1);
    if (last !== undefined && last.length + command.length + 4 <= MAX_COMMAND_CHARACTERS)
      joined[joined.length - 1] = `${last} && ${command}`;
    else joined.push(command);
  }
  return joined;
}
