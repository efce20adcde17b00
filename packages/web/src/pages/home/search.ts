import type { Draft } from "../composer/draft.ts";

/** The form values that a link can prefill. */
export interface HomeSearch {
  environment?: string;
  skill?: string;
  harness?: string;
  model?: string;
  prompt?: string;
  /** A template that the form offers to fill. */
  template?: string;
}

const members = {
  environment: "environment_id",
  skill: "skill_spec",
  harness: "harness",
  model: "model_id",
  prompt: "prompt",
} as const satisfies Record<Exclude<keyof HomeSearch, "template">, keyof Draft>;
const names = Object.keys(members) as (keyof typeof members)[];

/**
 * Reads the search parameters. The router parses values that look like JSON, so a prompt such as "42" arrives as a
 * number.
 */
export function readHomeSearch(raw: Record<string, unknown>): HomeSearch {
  return Object.fromEntries(
    ([...names, "template"] as const).flatMap((name) =>
      typeof raw[name] === "string" || typeof raw[name] === "number" ? [[name, String(raw[name])]] : [],
    ),
  );
}

export function overridesFrom(search: HomeSearch): Partial<Draft> {
  return Object.fromEntries(
    names.flatMap((name) => (search[name] === undefined ? [] : [[members[name], search[name]]])),
  );
}
