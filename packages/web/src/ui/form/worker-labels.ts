/** Parses labels such as `region=eu, gpu`, where `gpu` stands for `gpu=true`. Returns undefined if there are none. */
export function parseLabels(text = ""): Record<string, string> | undefined {
  const labels = text.split(/[,\n]/).flatMap((label) => label.trim() || []);
  if (labels.length === 0) return undefined;
  return Object.fromEntries(
    labels.map((label) => {
      const [name = "", ...value] = label.split("=");
      return [name.trim(), value.length === 0 ? "true" : value.join("=").trim()];
    }),
  );
}

export function formatLabels(labels: Record<string, string> = {}): string {
  return Object.entries(labels)
    .map(([name, value]) => (value === "true" ? name : `${name}=${value}`))
    .join(", ");
}
