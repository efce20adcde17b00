import type { Model } from "@outrider/sdk";
import { Command } from "commander";
import { clientCommand, withClient } from "../client-command.ts";
import { add, providers, remove, setDefault, test } from "./model/providers.ts";

const list = clientCommand("list", "List models, and why some are not available.")
  .alias("ls")
  .action(
    withClient(async ({ client, out }) => {
      const document = await client.models.list();
      const { default_model_id } = document;
      const price = ({ prices }: Model) =>
        prices && `$${prices.input_usd_per_mtok} in, $${prices.output_usd_per_mtok} out`;
      out.list<Model>({
        ...{ document, rows: document.models, id: ({ model_id }) => model_id, emptyMessage: "No models." },
        columns: [
          { title: "MODEL", text: ({ model_id }) => model_id },
          { title: "", text: ({ model_id }) => (model_id === default_model_id ? "default" : "") },
          { title: "PROVIDER", text: ({ provider }) => provider },
          { title: "CONTEXT", text: ({ context_tokens }) => String(context_tokens) },
          { title: "PER MILLION TOKENS", text: price },
          {
            title: "",
            text: ({ available, reason }) => (available ? "" : (reason ?? "not available")),
            canShrink: true,
          },
        ],
      });
    }),
  );

export const modelCommand = new Command("model")
  .description("List models, and connect their providers.")
  .addCommand(list)
  .addCommand(providers)
  .addCommand(add)
  .addCommand(test)
  .addCommand(remove)
  .addCommand(setDefault);
