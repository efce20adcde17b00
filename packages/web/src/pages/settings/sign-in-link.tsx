import type { SignInLinkResponse } from "@outrider/sdk";
import { Button } from "../../ui/button.tsx";
import { Time } from "../../ui/format/time.tsx";
import { Dialog } from "../../ui/overlay/dialog.tsx";
import { CopyButton } from "../../ui/text/copy.tsx";

export interface CreatedLink extends SignInLinkResponse {
  display_name: string;
}

/** Shows a sign-in link once. The dialog closes without confirmation, because an admin can create another link. */
export function SignInLink({ created, onClose }: { created: CreatedLink; onClose: () => void }) {
  const { display_name, link = "", expires_at } = created;
  return (
    <Dialog
      open
      onClose={onClose}
      title={`Sign-in link for ${display_name}`}
      description="Send it through a private channel. The first person who opens it is signed in."
      footer={
        <>
          <Button onClick={onClose}>Done</Button>
          <CopyButton text={link} what="link" labelled />
        </>
      }
    >
      <code className="block rounded-md border border-line bg-code p-3 font-mono text-xs break-all select-all">
        {link}
      </code>
      <p className="mt-3 text-muted">
        The link is shown once, works once and expires <Time at={expires_at} />. A new link replaces it.
      </p>
    </Dialog>
  );
}
