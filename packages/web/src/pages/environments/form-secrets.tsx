import { Link } from "@tanstack/react-router";
import { Checkbox } from "../../ui/field.tsx";
import { PartFrame, type PartProps } from "./form-parts.tsx";

export function FormSecrets({ draft, change, faults, secrets }: PartProps & { secrets: string[] }) {
  const wrong = Object.entries(faults).find(([pointer]) => pointer.startsWith("/secrets"))?.[1];
  return (
    <PartFrame
      title="Secrets"
      lead="Reach the commands of a run as variables of the same name. The agent can read them, so give only what its work needs. Their values are masked in everything that is written."
    >
      {secrets.length === 0 ? (
        <p className="text-muted">
          None is stored yet.{" "}
          <Link to="/secrets" className="text-accent-ink underline">
            Store a secret
          </Link>{" "}
          first, then choose it here.
        </p>
      ) : (
        <div className="grid max-h-64 gap-x-4 overflow-y-auto sm:grid-cols-2">
          {secrets.map((name) => (
            <Checkbox
              key={name}
              className="min-h-9 items-center! py-1"
              label={<span className="break-all font-mono text-xs">{name}</span>}
              checked={draft.secrets.includes(name)}
              aria-invalid={wrong ? true : undefined}
              onChange={({ target }) =>
                change({
                  secrets: target.checked
                    ? [...draft.secrets, name]
                    : draft.secrets.filter((each) => each !== name),
                })
              }
            />
          ))}
        </div>
      )}
      {wrong && <p className="text-xs text-bad">{wrong}</p>}
    </PartFrame>
  );
}
