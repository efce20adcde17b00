import type { Draft } from "../composer/draft.ts";

/** What a link to the form may have chosen already: "run with this skill", "run here". */
export interface HomeSearch {
  environment?: string;
  skill?: string;
  model?: string;
  prompt?: string;
}

const members = {
  environment: "environment_id",
  skill: "skill_spec",
  model: "model_id",
  prompt: "prompt",
} as const satisfies Record<keyof HomeSearch, keyof Draft>;
const names = Object.keys(members) as (keyof HomeSearch)[];

/** The router reads what looks like JSON as JSON; a prompt may look like a number. */
export function readHomeSearch(raw: Record<string, unknown>): HomeSearch {
  return Object.fromEntries(
    names.flatMap((name) =>
      typeof raw[name] === "string" || typeof raw[name] === "number" ? [[name, String(raw[name])]] : [],
    ),
  );
}

export function chosenIn(search: HomeSearch): Partial<Draft> {
  return Object.fromEntries(
    names.flatMap((name) => (search[name] === undefined ? [] : [[members[name], search[name]]])),
  );
}
