/** Quotes a string as one word of a shell command line. */
export function quote(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}
