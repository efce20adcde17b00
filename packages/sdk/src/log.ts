const levels = ["off", "error", "warn", "info", "debug"] as const;

export type LogLevel = (typeof levels)[number];

/** Receives log messages: `console`, or any object with the same methods. */
export type Logger = Record<Exclude<LogLevel, "off">, (message: string, details: object) => void>;

export function isLogLevel(value: string): value is LogLevel {
  return (levels as readonly string[]).includes(value);
}

/** Returns a logger that drops messages below a level. */
export function filterByLevel(logger: Logger, level: LogLevel): Logger {
  const filter =
    (messageLevel: keyof Logger): Logger[keyof Logger] =>
    (message, details) => {
      if (levels.indexOf(messageLevel) <= levels.indexOf(level)) logger[messageLevel](message, details);
    };
  return { error: filter("error"), warn: filter("warn"), info: filter("info"), debug: filter("debug") };
}

/** Headers that are safe to log. Others can be secret, so only their names are logged. */
const loggableHeaders = new Set([
  "accept",
  "content-type",
  "idempotency-key",
  "last-event-id",
  "x-outrider-client",
]);

export function withoutSecrets(headers: Record<string, string>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, loggableHeaders.has(name) ? value : "[redacted]"]),
  );
}
