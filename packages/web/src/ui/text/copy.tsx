import { Check, Copy } from "lucide-react";
import { useEffect, useState } from "react";
import { showToast } from "../../frame/toasts.ts";
import { Button, IconButton } from "../button.tsx";

const SHOWN_MS = 1_500;

/**
 * Copies text and shows a toast. Browsers hide the clipboard on pages that are served over plain HTTP, except on
 * localhost.
 */
export async function copy(text: string | Promise<string>, what: string): Promise<boolean> {
  try {
    if (typeof text === "string") await navigator.clipboard.writeText(text);
    // Text that has to be fetched is passed as a promise. After an await, browsers no longer associate the call with
    // the user's click.
    else await navigator.clipboard.write([new ClipboardItem({ "text/plain": text })]);
    showToast(`${what} copied`);
    return true;
  } catch {
    showToast("The browser blocked copying. Select the text and copy it manually.", "bad");
    return false;
  }
}

interface CopyProps {
  text: string;
  /** Names the content in the button's label, such as "run ID". */
  what: string;
  /** Shows the label next to the icon. */
  labelled?: boolean;
}

export function CopyButton({ text, what, labelled = false }: CopyProps) {
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return;
    const timer = setTimeout(() => setCopied(false), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [copied]);
  const icon = copied ? (
    <Check className="size-4 text-good" aria-hidden />
  ) : (
    <Copy className="size-4" aria-hidden />
  );
  const press = () => void copy(text, what).then(setCopied);
  return labelled ? (
    <Button icon={icon} onClick={press}>
      {copied ? "Copied" : `Copy ${what}`}
    </Button>
  ) : (
    <IconButton label={`Copy ${what}`} small icon={icon} onClick={press} />
  );
}
