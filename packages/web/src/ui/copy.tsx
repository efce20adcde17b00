import { Check, Copy } from "lucide-react";
import { useEffect, useState } from "react";
import { announce } from "../shell/announcements.ts";
import { Button, IconButton } from "./button.tsx";

const SHOWN_MS = 1_500;

/** Over plain HTTP beyond this machine browsers hide the clipboard; then the reader is told so. */
export async function copy(text: string | Promise<string>, what: string): Promise<boolean> {
  try {
    if (typeof text === "string") await navigator.clipboard.writeText(text);
    // What has to be fetched first is handed over as a promise: later, browsers would not see the press any more.
    else await navigator.clipboard.write([new ClipboardItem({ "text/plain": text })]);
    announce(`${what} copied`);
    return true;
  } catch {
    announce("The browser did not allow copying. Select the text and copy it by hand.", "bad");
    return false;
  }
}

interface CopyProps {
  text: string;
  /** What it is, for the button's name: "run id". */
  what: string;
  /** With words beside the sign. */
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
