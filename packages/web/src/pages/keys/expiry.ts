const DAY_MS = 86_400_000;

export const expiries = [
  { value: "7", label: "In 7 days" },
  { value: "30", label: "In 30 days" },
  { value: "90", label: "In 90 days" },
  { value: "365", label: "In a year" },
  { value: "date", label: "Custom date" },
  { value: "never", label: "Never" },
];

/** Returns the expiry time. A key with a custom date expires at the end of that day in the user's time zone. */
export function expiryOf(choice: string, date: string | undefined): string | undefined {
  if (choice === "never" || (choice === "date" && !date)) return undefined;
  if (choice === "date") return new Date(`${date}T23:59:59`).toISOString();
  return new Date(Date.now() + Number(choice) * DAY_MS).toISOString();
}
