/**
 * Stores a user preference in local storage. If storage is disabled, the preference is lost when the page is closed.
 */
export function storedSetting(name: string) {
  const key = `outrider.${name}`;
  let fallback: string | undefined;
  return {
    read(): string | undefined {
      try {
        return localStorage.getItem(key) ?? undefined;
      } catch {
        return fallback;
      }
    },
    write(value: string | undefined) {
      fallback = value;
      try {
        if (value === undefined) localStorage.removeItem(key);
        else localStorage.setItem(key, value);
      } catch {
        // If writing fails, the in-memory fallback is used.
      }
    },
  };
}
