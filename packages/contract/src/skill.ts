import { z } from "zod";
import { SkillSpecText } from "./agent-config.ts";
import { Uuid } from "./text.ts";

const found = {
  name: z.string().min(1).max(128),
  description: z.string().max(1_024).meta({ description: "Description from SKILL.md. May be empty." }),
  skill_spec: SkillSpecText.meta({ description: "Value for `config.skill_spec` of a run." }),
};

/** A skill that a build has found in its repositories. */
export const FoundSkill = z.strictObject(found);
export type FoundSkill = z.infer<typeof FoundSkill>;

export const Skill = z
  .object({
    ...found,
    environments: z
      .array(Uuid)
      .meta({ description: "IDs of the environments whose repositories contain the skill." }),
  })
  .meta({
    id: "Skill",
    description: "A skill in the repositories of an environment, as of its latest build.",
  });
export type Skill = z.infer<typeof Skill>;

export const ListSkillsResponse = z.object({ skills: z.array(Skill) }).meta({ id: "ListSkillsResponse" });
export type ListSkillsResponse = z.infer<typeof ListSkillsResponse>;

export const ListAgentsResponse = z.object({ agents: z.array(Skill) }).meta({ id: "ListAgentsResponse" });
