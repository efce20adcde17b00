import { ForgeRequest } from "@outrider/contract/forge";
import type { Forge, ForgeRequest as Request } from "@outrider/sdk";
import { type ReactNode, useId } from "react";
import { outrider } from "../../../api.ts";
import { showToast } from "../../../frame/toasts.ts";
import { queries, queryClient } from "../../../queries.ts";
import { Button } from "../../../ui/button.tsx";
import { TextField } from "../../../ui/form/fields.tsx";
import { FormErrors } from "../../../ui/form/form-errors.tsx";
import { useRequestForm } from "../../../ui/form/use-request-form.ts";
import { Dialog } from "../../../ui/overlay/dialog.tsx";
import { appPage, forgeLabels } from "./forge-labels.ts";

interface ConnectForgeProps {
  type: Forge["type"];
  onClose: () => void;
}

interface Values {
  type: Forge["type"];
  url: string | undefined;
  token: string | undefined;
}

const placeholders: Record<Forge["type"], string> = {
  github: "https://github.com",
  gitlab: "https://gitlab.com",
  gitea: "https://git.example.com",
};

const tokenHints: Record<Forge["type"], ReactNode> = {
  github: (
    <>
      A fine-grained token with read and write access to contents and pull requests of the repositories. A{" "}
      <a href={appPage({})} className="text-accent-ink underline">
        GitHub App
      </a>{" "}
      needs no token, and each run gets minimal rights.
    </>
  ),
  gitlab: "A project, group or personal access token with the scopes api and write_repository.",
  gitea: "A token with read and write access to repositories and issues, and read access to the user.",
};

/** Shows the form that connects a forge with an access token, or replaces the token. */
export function ConnectForge({ type, onClose }: ConnectForgeProps) {
  const id = useId();
  const form = useRequestForm({
    schema: ForgeRequest,
    values: { type, url: undefined, token: undefined } as Values,
    send: (request: Request) => outrider.forges.create(request),
    async onSent({ login }) {
      await queryClient.invalidateQueries(queries.forges());
      showToast(`Connected as ${login}`);
      onClose();
    },
  });
  return (
    <Dialog
      open
      keepOpen
      onClose={onClose}
      title={`Connect ${forgeLabels[type]}`}
      description="The token is checked at the forge, then stored encrypted. Nobody can read it again."
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button variant="primary" type="submit" form={id} busy={form.isBusy}>
            Connect
          </Button>
        </>
      }
    >
      <form {...form.attributes} id={id} className="flex flex-col gap-4">
        <TextField
          label="Address"
          {...form.field("url")}
          optional={type !== "gitea"}
          required={type === "gitea"}
          placeholder={placeholders[type]}
          hint={type === "gitea" ? undefined : `Default: ${placeholders[type]}`}
          inputMode="url"
          spellCheck={false}
          data-autofocus
        />
        <TextField
          label="Access token"
          {...form.field("token")}
          type="password"
          required
          spellCheck={false}
          autoComplete="off"
          hint={tokenHints[type]}
        />
        <FormErrors form={form} visuallyHidden />
      </form>
    </Dialog>
  );
}
