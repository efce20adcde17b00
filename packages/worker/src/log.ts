/** The logger interface that the worker needs. A pino logger satisfies it. */
export interface Log {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** Discards everything. */
export const silentLog: Log = { info() {}, warn() {}, error() {} };
