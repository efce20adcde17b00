const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
const unsafe = new Set(["__proto__", "constructor", "prototype"]);

/** Returns `defaults` with `settings` merged into them. */
export function merge(defaults, settings) {
  const merged = structuredClone(defaults);
  for (const [key, value] of Object.entries(settings)) {
    if (unsafe.has(key)) continue;
    const before = Object.hasOwn(merged, key) ? merged[key] : undefined;
    merged[key] = isObject(value) ? merge(isObject(before) ? before : {}, value) : structuredClone(value);
  }
  return merged;
}
