export interface Finding {
  name: string;
  /** `warn` means that the checked feature works but is limited or at risk; `fail` means that it does not work. */
  state: "ok" | "warn" | "fail";
  message: string;
  /** Says how to fix the problem. */
  remedy?: string;
}

export const ok = (name: string, message: string): Finding => ({ name, state: "ok", message });
export const warn = (name: string, message: string, remedy: string): Finding => ({
  name,
  state: "warn",
  message,
  remedy,
});
export const fail = (name: string, message: string, remedy: string): Finding => ({
  name,
  state: "fail",
  message,
  remedy,
});

const gibibyte = 2 ** 30;
export const formatGibibytes = (bytes: number) => `${(bytes / gibibyte).toFixed(1)} GiB`;

/** Formats a duration in the most readable unit. */
export function formatDuration(seconds: number): string {
  if (seconds < 120) return `${Math.round(seconds)} s`;
  return seconds < 7_200 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3_600)} h`;
}
