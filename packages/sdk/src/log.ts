const levels = ["off", "error", "warn", "info", "debug"] as const;

export type LogLevel = (typeof levels)[number];

/** What takes the lines: `console`, or anything with the same methods. */
export type Logger = Record<Exclude<LogLevel, "off">, (message: string, details: object) => void>;

export function isLogLevel(value: string): value is LogLevel {
  return (levels as readonly string[]).includes(value);
}

/** Silent below its level. */
export function leveled(logger: Logger, level: LogLevel): Logger {
  const line =
    (of: keyof Logger): Logger[keyof Logger] =>
    (message, details) => {
      if (levels.indexOf(of) <= levels.indexOf(level)) logger[of](message, details);
    };
  return { error: line("error"), warn: line("warn"), info: line("info"), debug: line("debug") };
}

/** Headers that anybody may read. Whatever else a caller sends may be a secret, so only its name is told. */
const harmless = new Set(["accept", "content-type", "idempotency-key", "last-event-id", "x-outrider-client"]);

export function withoutSecrets(headers: Record<string, string>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, harmless.has(name) ? value : "[not shown]"]),
  );
}
