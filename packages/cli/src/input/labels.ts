/** Parses labels such as `region=eu` and `gpu`, which stands for `gpu=true`. The last value of a name counts. */
export function parseLabels(texts: string[]): Record<string, string> {
  return Object.fromEntries(
    texts.map((text) => {
      const at = text.indexOf("=");
      return at < 0 ? [text, "true"] : [text.slice(0, at), text.slice(at + 1)];
    }),
  );
}

export function labelsText(labels: Record<string, string>): string {
  return Object.entries(labels)
    .map(([name, value]) => (value === "true" ? name : `${name}=${value}`))
    .join(",");
}
