/** The options of a select, as its elements describe them. */
export interface SelectOption {
  value: string;
  label: string;
  isDisabled: boolean;
}

export function readOptions(select: HTMLSelectElement): SelectOption[] {
  return [...select.options].map(({ value, label, disabled }) => ({ value, label, isDisabled: disabled }));
}

/** Returns the index of the nearest option that can be chosen, at or after a place in the given direction. */
export function nearestEnabled(options: readonly SelectOption[], from: number, step: 1 | -1): number {
  for (let at = from; at >= 0 && at < options.length; at += step) if (!options[at]?.isDisabled) return at;
  return -1;
}

/**
 * Returns the index of the next option whose label starts with the typed text. If one letter is typed again and again,
 * it cycles through the options that start with it.
 */
export function findTyped(options: readonly SelectOption[], typed: string, from: number): number {
  const letters = new Set(typed);
  const text = (letters.size === 1 ? (typed[0] ?? "") : typed).toLowerCase();
  const start = typed.length === 1 || letters.size === 1 ? from + 1 : from;
  for (let offset = 0; offset < options.length; offset += 1) {
    const at = (Math.max(start, 0) + offset) % options.length;
    const option = options[at];
    if (option && !option.isDisabled && option.label.toLowerCase().startsWith(text)) return at;
  }
  return -1;
}
