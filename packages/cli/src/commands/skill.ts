import type { Skill } from "@outrider/sdk";
import { Command } from "commander";
import { clientCommand, withClient } from "../client-command.ts";

const list = clientCommand("list", "List the skills of the environments' repositories.").action(
  withClient(async ({ client, out }) => {
    const document = await client.skills.list();
    out.list<Skill>({
      ...{ document, rows: document.skills, id: ({ skill_spec }) => skill_spec, none: "No skills." },
      columns: [
        { title: "NAME", text: ({ name }) => name },
        { title: "SKILL", text: ({ skill_spec }) => skill_spec },
        { title: "DESCRIPTION", text: ({ description }) => description, gives: true },
      ],
    });
  }),
);

export const skillCommand = new Command("skill").description("Skills that runs can use.").addCommand(list);
