import type { RunAgentRequest, RunItem } from "@outrider/sdk";

/** What would have to be sent for the same run. Values that the run hides are for the reader to fill in. */
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

function remark(run: RunItem, sign: string): string {
  const files = run.attachments?.length ?? 0;
  return files === 0 ? "" : `${sign} The run also had ${files} attached ${files === 1 ? "file" : "files"}.\n`;
}

/** The quoted end word keeps the shell's hands off everything; JSON has no line of its own that could be it. */
export function curlOf(run: RunItem): string {
  return `${remark(run, "#")}curl -sS '${api()}/agent/run' \\
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

${remark(run, "//")}const run = await outrider.runs.createAndWait(${JSON.stringify(requestOf(run), null, 2)});
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

${remark(run, "#")}run = client.runs.create_and_wait(
${members.join("")})
print(run.state, run.session_link)
`;
}

/** JSON as Python writes it: its strings are Python's too, only three words and empty places differ. */
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
