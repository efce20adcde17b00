import { describe, expect, test } from "vitest";
import { placeErrors } from "../src/ui/form/place-errors.ts";

const names = new Set(["name", "limits.max_steps", "metadata"]);
const place = (pointer: string, fieldOf = (path: string[]) => path) =>
  placeErrors([{ pointer, message: "must be shorter" }], names, fieldOf);

describe("placing the errors of a request", () => {
  test("shows an error at the field with its pointer", () => {
    expect(place("/limits/max_steps").placed).toEqual([
      { name: "limits.max_steps", message: "must be shorter" },
    ]);
    // Parameters of a URL have a name instead of a pointer.
    expect(place("name").placed).toEqual([{ name: "name", message: "must be shorter" }]);
  });

  test("shows an error inside a field's value at the field, with the rest of the path", () => {
    expect(place("/metadata/a~1b").placed).toEqual([{ name: "metadata", message: "`a/b` must be shorter" }]);
  });

  test("uses the form's own path of a field", () => {
    expect(place("/title", () => ["name"]).placed).toEqual([{ name: "name", message: "must be shorter" }]);
  });

  test("returns errors without a field as sentences", () => {
    expect(place("/limits")).toEqual({ placed: [], unplaced: ["`limits` must be shorter."] });
    expect(place("")).toEqual({ placed: [], unplaced: ["The request must be shorter."] });
  });

  test("shows only the first error of a field", () => {
    const errors = ["is too long", "is too wide"].map((message) => ({ pointer: "/name", message }));
    expect(placeErrors(errors, names, (path) => path).placed).toEqual([
      { name: "name", message: "is too long" },
    ]);
  });
});
