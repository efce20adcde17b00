export interface Finding {
  name: string;
  /** `warn`: it works, with less or not for long. `fail`: it does not. */
  state: "ok" | "warn" | "fail";
  /** What holds, or what does not. */
  says: string;
  /** What to do about it. */
  remedy?: string;
}

export const ok = (name: string, says: string): Finding => ({ name, state: "ok", says });
export const warn = (name: string, says: string, remedy: string): Finding => ({
  name,
  state: "warn",
  says,
  remedy,
});
export const fail = (name: string, says: string, remedy: string): Finding => ({
  name,
  state: "fail",
  says,
  remedy,
});

const gibibyte = 2 ** 30;
export const inGigabytes = (bytes: number) => `${(bytes / gibibyte).toFixed(1)} GiB`;

/** The nearest unit that a person thinks in. */
export function inTime(seconds: number): string {
  if (seconds < 120) return `${Math.round(seconds)} s`;
  return seconds < 7_200 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3_600)} h`;
}
