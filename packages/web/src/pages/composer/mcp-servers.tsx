import { Plus, Trash2 } from "lucide-react";
import { Button, IconButton } from "../../ui/button.tsx";
import { errorSentence, Field, Select, TextArea, TextInput } from "../../ui/form/field.tsx";
import { InlineCode } from "../../ui/text/inline-code.tsx";
import { emptyServer, type ServerDraft } from "./draft.ts";
import type { ComposerErrors } from "./field-errors.ts";

interface McpServersProps {
  servers: ServerDraft[];
  /** The title of the run's harness, if it does not support MCP servers. */
  unsupportedBy: string | undefined;
  fieldErrors: ComposerErrors;
  onChange: (servers: ServerDraft[]) => void;
}

export function McpServers({ servers, unsupportedBy, fieldErrors, onChange }: McpServersProps) {
  const replace = (row: string, part: Partial<ServerDraft>) =>
    onChange(servers.map((server) => (server.row === row ? { ...server, ...part } : server)));
  const whole =
    unsupportedBy && servers.length > 0
      ? `do not work with ${unsupportedBy}; remove them, or choose another harness`
      : fieldErrors["config.mcp_servers"];
  return (
    <fieldset className="flex flex-col gap-3">
      <legend className="mb-1.5 font-medium">MCP servers</legend>
      {servers.map((server, at) => (
        <Server
          key={server.row}
          server={server}
          at={at}
          fieldErrors={fieldErrors}
          onChange={(part) => replace(server.row, part)}
          onRemove={() => onChange(servers.filter(({ row }) => row !== server.row))}
        />
      ))}
      {whole && (
        <p className="text-xs text-bad">
          <InlineCode text={errorSentence("MCP servers", whole)} />
        </p>
      )}
      <div>
        <Button
          icon={<Plus className="size-4" aria-hidden />}
          disabled={unsupportedBy !== undefined}
          onClick={() => onChange([...servers, emptyServer()])}
        >
          Add MCP server
        </Button>
        {unsupportedBy && servers.length === 0 && (
          <p className="mt-1.5 text-xs text-muted">{unsupportedBy} does not support MCP servers.</p>
        )}
      </div>
    </fieldset>
  );
}

interface ServerProps {
  server: ServerDraft;
  at: number;
  fieldErrors: ComposerErrors;
  onChange: (part: Partial<ServerDraft>) => void;
  onRemove: () => void;
}

function Server({ server, at, fieldErrors, onChange, onRemove }: ServerProps) {
  const { name, kind, target, args, values } = server;
  const isUrl = kind === "url";
  const errorAt = (member: string) => fieldErrors[`config.mcp_servers.${at}.${member}`];
  return (
    <div className="grid items-start gap-3 rounded-lg border border-line p-3 sm:grid-cols-[1fr_9rem_2fr_auto]">
      <Field label="Name" error={errorAt("name")}>
        {(parts) => (
          <TextInput {...parts} value={name} onChange={(event) => onChange({ name: event.target.value })} />
        )}
      </Field>
      <Field label="Type">
        {(parts) => (
          <Select
            {...parts}
            value={kind}
            onChange={(event) => onChange({ kind: event.target.value as ServerDraft["kind"] })}
          >
            <option value="url">URL</option>
            <option value="command">Command</option>
          </Select>
        )}
      </Field>
      <Field label={isUrl ? "URL" : "Command"} error={errorAt(kind)}>
        {(parts) => (
          <TextInput
            {...parts}
            value={target}
            placeholder={isUrl ? "https://…" : "npx"}
            onChange={(event) => onChange({ target: event.target.value })}
          />
        )}
      </Field>
      <IconButton
        label={`Remove ${name || "this server"}`}
        className="max-sm:order-last max-sm:justify-self-end sm:mt-6.5"
        icon={<Trash2 className="size-4" aria-hidden />}
        onClick={onRemove}
      />
      {!isUrl && (
        <Field label="Arguments" hint="One per line." error={errorAt("args")} className="sm:col-span-2">
          {(parts) => (
            <TextArea
              {...parts}
              className="font-mono text-xs"
              value={args}
              onChange={(event) => onChange({ args: event.target.value })}
            />
          )}
        </Field>
      )}
      <Field
        label={isUrl ? "Headers" : "Variables"}
        hint={`One ${isUrl ? "Name: value" : "NAME=value"} per line. Use \${secrets.NAME} for a stored secret. This browser does not save the values you type.`}
        error={errorAt(isUrl ? "headers" : "env")}
        className={isUrl ? "sm:col-span-3" : ""}
      >
        {(parts) => (
          <TextArea
            {...parts}
            className="font-mono text-xs"
            value={values}
            onChange={(event) => onChange({ values: event.target.value })}
          />
        )}
      </Field>
    </div>
  );
}
