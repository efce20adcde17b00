import { taxOf } from "./tax.js";

export function invoice(lines) {
  try {
    return lines.map((line) => line.cents + taxOf(line)).reduce((a, b) => a + b, 0);
  } catch {
    throw new Error("invoice failed");
  }
}
