const DAY_MS = 86_400_000;

export const expiries = [
  { value: "7", label: "In 7 days" },
  { value: "30", label: "In 30 days" },
  { value: "90", label: "In 90 days" },
  { value: "365", label: "In a year" },
  { value: "date", label: "On a date" },
  { value: "never", label: "Never" },
];

/** A day counts to its end, in the reader's zone. */
export function expiryOf(choice: string, date: string): string | undefined {
  if (choice === "never") return undefined;
  if (choice === "date") return new Date(`${date}T23:59:59`).toISOString();
  return new Date(Date.now() + Number(choice) * DAY_MS).toISOString();
}
