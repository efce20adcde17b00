const codes = {
  bold: [1, 22],
  dim: [2, 22],
  italic: [3, 23],
  underline: [4, 24],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  blue: [34, 39],
  magenta: [35, 39],
  cyan: [36, 39],
} as const;

export type Style = Record<keyof typeof codes, (text: string) => string> & { readonly isOn: boolean };

export function createStyle(isOn: boolean): Style {
  const paints = Object.entries(codes).map(([name, [open, close]]) => [
    name,
    (text: string) => (isOn && text !== "" ? `\x1b[${open}m${text}\x1b[${close}m` : text),
  ]);
  return { ...Object.fromEntries(paints), isOn };
}

/** Returns whether to use colors. --no-color overrides NO_COLOR, which overrides FORCE_COLOR and terminal detection. */
export function wantsColor(from: {
  flag: boolean;
  environment: NodeJS.ProcessEnv;
  isTerminal: boolean;
}): boolean {
  const { NO_COLOR, FORCE_COLOR, TERM } = from.environment;
  if (!from.flag || NO_COLOR) return false;
  if (FORCE_COLOR !== undefined) return !["0", "false"].includes(FORCE_COLOR);
  return from.isTerminal && TERM !== "dumb";
}
