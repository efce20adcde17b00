/** One choice of the reader, kept in this browser. Storage may be switched off; then it lasts as long as the page. */
export function setting(name: string) {
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
        // The fallback has it.
      }
    },
  };
}
