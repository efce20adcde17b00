import type { RunAgentRequest, RunItem } from "@outrider/sdk";

/** Returns the request that repeats a run. Masked values become placeholders. */
export function requestOf(run: RunItem): RunAgentRequest {
  const { prompt, title, agent_config, limits, metadata, output_schema, priority } = run;
  const config = JSON.parse(JSON.stringify(agent_config).replaceAll("***", "YOUR_VALUE"));
  return {
    prompt,
    title,
    ...(Object.keys(config).length > 0 && { config }),
    ...(limits && Object.keys(limits).length > 0 && { limits }),
    ...(metadata && Object.keys(metadata).length > 0 && { metadata }),
    ...(output_schema && { output_schema }),
    ...(priority !== 0 && { priority }),
  };
}

const api = () => `${location.origin}/api/v1`;

function attachmentNote(run: RunItem, commentPrefix: string): string {
  const files = run.attachments?.length ?? 0;
  return files === 0
    ? ""
    : `${commentPrefix} The run also had ${files} attached ${files === 1 ? "file" : "files"}.\n`;
}

/** Returns a curl command. The quoted heredoc delimiter prevents the shell from expanding the JSON. */
export function curlOf(run: RunItem): string {
  return `${attachmentNote(run, "#")}curl -sS '${api()}/agent/run' \\
  -H "Authorization: Bearer $OUTRIDER_API_KEY" \\
  -H 'Content-Type: application/json' \\
  --data-binary @- <<'END_OF_REQUEST'
${JSON.stringify(requestOf(run), null, 2)}
END_OF_REQUEST
`;
}

export function typescriptOf(run: RunItem): string {
  return `import { Outrider } from "@outrider/sdk";

// The key comes from OUTRIDER_API_KEY.
const outrider = new Outrider({ baseURL: ${JSON.stringify(api())} });

${attachmentNote(run, "//")}const run = await outrider.runs.createAndWait(${JSON.stringify(requestOf(run), null, 2)});
console.log(run.state, run.session_link);
`;
}

export function pythonOf(run: RunItem): string {
  const members = Object.entries(requestOf(run)).map(
    ([name, value]) => `    ${name}=${literal(value, 1)},\n`,
  );
  return `from outrider import Outrider

# The key comes from OUTRIDER_API_KEY.
client = Outrider(base_url=${JSON.stringify(api())})

${attachmentNote(run, "#")}run = client.runs.create_and_wait(
${members.join("")})
print(run.state, run.session_link)
`;
}

/** Converts JSON to a Python literal. Only booleans and null differ. */
function literal(value: unknown, depth: number): string {
  const indent = "    ".repeat(depth + 1);
  const close = "    ".repeat(depth);
  if (value === true) return "True";
  if (value === false) return "False";
  if (value === null) return "None";
  if (Array.isArray(value)) {
    if (value.length === 0) return "[]";
    return `[\n${value.map((item) => `${indent}${literal(item, depth + 1)},\n`).join("")}${close}]`;
  }
  if (typeof value === "object") {
    const members = Object.entries(value);
    if (members.length === 0) return "{}";
    const lines = members.map(
      ([name, item]) => `${indent}${JSON.stringify(name)}: ${literal(item, depth + 1)},\n`,
    );
    return `{\n${lines.join("")}${close}}`;
  }
  return JSON.stringify(value);
}
