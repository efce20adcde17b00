import type { Skill } from "@outrider/sdk";
import { Command } from "commander";
import { clientCommand, withClient } from "../client-command.ts";

const list = clientCommand("list", "List the skills of the environments that your key can use.")
  .alias("ls")
  .action(
    withClient(async ({ client, out }) => {
      const document = await client.skills.list();
      out.list<Skill>({
        ...{
          document,
          rows: document.skills,
          id: ({ skill_spec }) => skill_spec,
          emptyMessage: "No skills.",
        },
        columns: [
          { title: "NAME", text: ({ name }) => name },
          { title: "SKILL", text: ({ skill_spec }) => skill_spec },
          { title: "DESCRIPTION", text: ({ description }) => description, canShrink: true },
        ],
      });
    }),
  );

export const skillCommand = new Command("skill").description("List skills.").addCommand(list);
