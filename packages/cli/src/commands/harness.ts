import type { Harness } from "@outrider/sdk";
import { Command } from "commander";
import { clientCommand, withClient } from "../client-command.ts";
import { installCommand } from "./harness/install.ts";

const list = clientCommand("list", "List harnesses, and why some cannot be used now.")
  .alias("ls")
  .action(
    withClient(async ({ client, out }) => {
      const document = await client.harnesses.list();
      out.list<Harness>({
        ...{ document, rows: document.harnesses, id: ({ name }) => name, emptyMessage: "No harnesses." },
        columns: [
          { title: "HARNESS", text: ({ name }) => name },
          { title: "TITLE", text: ({ title }) => title },
          { title: "VERSION", text: versionText },
          { title: "MCP", text: ({ supports_mcp_servers }) => (supports_mcp_servers ? "yes" : "no") },
          { title: "STATUS", text: statusText, canShrink: true },
        ],
      });
    }),
  );

function versionText({ version, packages }: Harness): string {
  return version ?? Object.values(packages ?? {}).join(", ");
}

function statusText({ available, installed, reason }: Harness): string {
  if (!available) return `not available: ${reason ?? "unknown reason"}`;
  return installed ? "installed" : "installed on first use";
}

export const harnessCommand = new Command("harness")
  .description("List and install harnesses. A harness is an agent program that executes runs.")
  .addCommand(list)
  .addCommand(installCommand);
