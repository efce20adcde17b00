import { MessageSquare } from "lucide-react";
import { useState } from "react";
import { Button } from "../../../ui/button.tsx";
import { Field, TextArea } from "../../../ui/form/field.tsx";

interface CommentEditorProps {
  initial: string;
  onSave: (text: string) => void;
  onCancel: () => void;
}

/** Shows the form for a comment on a line. */
export function CommentEditor({ initial, onSave, onCancel }: CommentEditorProps) {
  const [text, setText] = useState(initial);
  const save = () => {
    if (text.trim() !== "") onSave(text);
  };
  return (
    <div className="sticky left-0 flex max-w-2xl flex-col gap-2 border-y border-line bg-surface p-3">
      <Field label="Comment" compact>
        {(parts) => (
          <TextArea
            {...parts}
            autoFocus
            rows={2}
            value={text}
            maxLength={10_000}
            onChange={({ target }) => setText(target.value)}
            onKeyDown={(event) => {
              if (event.key === "Enter" && (event.metaKey || event.ctrlKey)) save();
              if (event.key === "Escape") onCancel();
            }}
          />
        )}
      </Field>
      <div className="flex justify-end gap-2">
        <Button small onClick={onCancel}>
          Cancel
        </Button>
        <Button small variant="primary" disabled={text.trim() === ""} onClick={save}>
          {initial ? "Save comment" : "Add comment"}
        </Button>
      </div>
    </div>
  );
}

interface ShownCommentProps {
  text: string;
  onEdit: () => void;
  onDelete: () => void;
}

/** Shows a comment that has not been sent yet. */
export function ShownComment({ text, onEdit, onDelete }: ShownCommentProps) {
  return (
    <div className="sticky left-0 flex max-w-2xl items-start gap-2 border-y border-line bg-surface px-3 py-2 text-sm">
      <MessageSquare className="mt-0.5 size-4 shrink-0 text-accent-ink" aria-hidden />
      <p className="min-w-0 flex-1 break-words whitespace-pre-wrap [unicode-bidi:plaintext]">{text}</p>
      <Button small variant="quiet" onClick={onEdit}>
        Edit
      </Button>
      <Button small variant="quiet" onClick={onDelete}>
        Delete
      </Button>
    </div>
  );
}
