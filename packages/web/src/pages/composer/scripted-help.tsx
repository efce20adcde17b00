import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { queries } from "../../queries.ts";
import { Button } from "../../ui/button.tsx";
import { SCRIPTED } from "../welcome/first-run.ts";
import { exampleScripts } from "./example-scripts.ts";

interface ScriptedHelpProps {
  /** The chosen model, or an empty text for the default. */
  modelId: string;
  onChoose: (prompt: string) => void;
}

/** Says what the scripted model is, if the run would use it, and offers scripts that show what a run can do. */
export function ScriptedHelp({ modelId, onChoose }: ScriptedHelpProps) {
  const { data: models } = useQuery(queries.models());
  const { data: me } = useQuery(queries.me());
  if (!models || (modelId || models.default_model_id) !== SCRIPTED) return null;
  return (
    <section aria-label="Scripted model" className="mx-4 mb-3 rounded-lg bg-raised px-3 py-2.5">
      <p>
        <strong className="font-medium">Scripted is not an AI.</strong> It executes the lines of the prompt,
        such as <code className="font-mono text-xs">RUN: ls</code>, in a real sandbox. Plain sentences have no
        effect.{" "}
        {me?.role === "admin" ? (
          <Link to="/settings" search={{ section: "models" }} className="text-accent-ink underline">
            Connect a model
          </Link>
        ) : (
          "Ask an admin to connect a model."
        )}
      </p>
      <div className="flex flex-wrap items-center gap-2 pt-2">
        <span className="text-xs text-muted">Try a script:</span>
        {exampleScripts.map(({ label, prompt }) => (
          <Button key={label} small onClick={() => onChoose(prompt)}>
            {label}
          </Button>
        ))}
      </div>
    </section>
  );
}
