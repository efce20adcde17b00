import { describe, expect, test } from "vitest";
import { parseTime } from "../src/input/time.ts";

const now = Date.UTC(2026, 0, 31, 12);
const parse = (text: string) => parseTime("--created-after", text, now);

describe("a time on the command line", () => {
  test.each([
    ["30s", "2026-01-31T11:59:30.000Z"],
    ["90m", "2026-01-31T10:30:00.000Z"],
    ["12h", "2026-01-31T00:00:00.000Z"],
    ["7d", "2026-01-24T12:00:00.000Z"],
    ["2w", "2026-01-17T12:00:00.000Z"],
    ["1d12h30m", "2026-01-29T23:30:00.000Z"],
    ["0s", "2026-01-31T12:00:00.000Z"],
  ])("can be a time ago: %s", (text, time) => {
    expect(parse(text)).toBe(time);
  });

  test.each(["2026-01-31", "2026-01-31T09:30:00Z", "2026-01-31T09:30:00+02:00"])(
    "can be a date or a timestamp, which the server reads: %s",
    (text) => {
      expect(parse(text)).toBe(text);
    },
  );

  test.each(["", "1", "h", "1y", "-1h", "1 h", "1h ago", "99999999999w", "yesterday"])(
    "cannot be %j",
    (text) => {
      expect(() => parse(text)).toThrow(
        `--created-after must be a date, a timestamp, or a time ago such as 30m, 12h or 7d, not ${JSON.stringify(text)}.`,
      );
    },
  );
});
