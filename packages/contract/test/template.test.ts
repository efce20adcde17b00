import { expect, test } from "vitest";
import { fillTemplate, renderTemplate, templateVariables } from "../src/template-text.ts";

test("finds each variable of a prompt once, in order", () => {
  const prompt = "Fix {{issue}} in {{ area_2 }}, then {{issue}}. Not: {issue} {{1st}} {{a-b}} {{}} {{ }}";
  expect(templateVariables(prompt)).toEqual(["issue", "area_2"]);
});

test("inserts values once and leaves unknown variables", () => {
  const values = { a: "{{b}} $& $1", b: "B" };
  expect(renderTemplate("{{a}} {{ b }} {{c}} {{constructor}}", values)).toBe(
    "{{b}} $& $1 B {{c}} {{constructor}}",
  );
});

test("adds defaults and finds values that are missing, invalid or unknown", () => {
  const variables = [
    { name: "issue" },
    { name: "area", default: "parser", options: ["parser", "printer"] },
    { name: "mode", options: ["fast"] },
    { name: "note", default: "" },
  ];
  expect(fillTemplate(variables, { mode: "slow", other: "x" })).toEqual({
    values: { area: "parser", mode: "slow", note: "" },
    missing: ["issue"],
    invalid: ["mode"],
    unknown: ["other"],
  });
});
