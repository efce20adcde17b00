/** One word for bash and zsh, whatever it holds. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
