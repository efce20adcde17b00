import { STATUS_CODES } from "node:http";
import { type ErrorCode, errorCodes, errorEntry } from "@outrider/contract/error";
import { operations, routes } from "@outrider/contract/routes";
import { problem } from "../problem.ts";
import { BASE } from "../request.ts";
import type { Assets } from "./assets.ts";
import { type Html, html, marked, page } from "./html.ts";

const INDEX = "/docs/errors";
const exampleId = "019a86f2-3c5d-7e41-9b20-5d1f6a7c8e90";
const exampleTraceId = "4bf92f3577b34da6a3ce929d0e0e4736";

/** All codes at a glance. */
export function errorIndexPage(assets: Assets): Html {
  return page({
    title: "Error codes · Outrider",
    address: INDEX,
    icon: assets.icon,
    styles: [assets.pageStyle, assets.errorsStyle],
    content: html`<main>
<h1>Error codes</h1>
<p class="lead">Programs decide by the code; it keeps its meaning within v1. An HTTP answer with a status of
400 or more carries it in <code>error_code</code>, a failed run in <code>status_message.error_code</code>.</p>
<table>
<thead><tr>
<th scope="col">Code</th><th scope="col">Title</th><th scope="col">HTTP status</th>
<th scope="col">Retryable</th><th scope="col">On a run</th>
</tr></thead>
<tbody>
${errorCodes.map(indexRow)}
</tbody>
</table>
</main>`,
  });
}

function indexRow(code: ErrorCode): Html {
  const { status, title, retryable, onRun } = errorEntry(code);
  // On a phone the columns' heads are gone, so each cell brings its own.
  return html`<tr>
<th scope="row"><a href="${INDEX}/${code}"><code>${code}</code></a></th>
<td>${marked(title)}</td>
<td data-label="HTTP status">${status ?? "none"}</td>
<td data-label="Retryable">${yesOrNo(retryable)}</td>
<td data-label="On a run">${yesOrNo(onRun === true)}</td>
</tr>`;
}

function yesOrNo(answer: boolean): string {
  return answer ? "yes" : "no";
}

/** What one code means and what to do about it. */
export function errorPage(code: ErrorCode, assets: Assets): Html {
  const { status, title, retryable, meaning, remedy, onRun } = errorEntry(code);
  return page({
    title: `${code}: ${title} · Outrider`,
    address: `${INDEX}/${code}`,
    icon: assets.icon,
    styles: [assets.pageStyle, assets.errorsStyle],
    content: html`<main>
<p class="trail"><a href="${INDEX}">All error codes</a></p>
<h1><code>${code}</code></h1>
<p class="lead">${marked(title)}</p>
<dl class="facts">
${fact("HTTP status", status ? statusLine(status) : "None: only a run carries it.")}
${fact("Retryable", retryable ? "Yes: the same may succeed later." : "No: the same will fail again.")}
${fact("On a run", onRun ? "Yes: in a failed run's `status_message`." : "No: only in HTTP answers.")}
</dl>
<h2>What it means</h2>
<p>${marked(meaning)}</p>
<h2>What to do</h2>
<p>${marked(remedy)}</p>
${status ? answerExample(code) : html``}
${onRun ? runExample(code) : html``}
<p class="trail"><a href="${INDEX}">All error codes</a> · <a href="/docs">API reference</a></p>
</main>`,
  });
}

function fact(name: string, text: string): Html {
  return html`<div><dt>${name}</dt><dd>${marked(text)}</dd></div>`;
}

function statusLine(status: number): string {
  return `${status} ${STATUS_CODES[status]}`;
}

/** The answer as the service itself would write it. */
function answerExample(code: ErrorCode): Html {
  const isBadMember = code === "invalid_request";
  const detail = isBadMember ? "`/prompt` is missing." : errorEntry(code).meaning;
  const faults = isBadMember ? [{ pointer: "/prompt", message: "is missing" }] : [];
  const occurrence = { origin: "https://outrider.example", path: examplePath(code), traceId: exampleTraceId };
  const { status, headers, body } = problem(code, detail, faults, occurrence);
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  const text = [`HTTP/1.1 ${statusLine(status)}`, ...lines, "", JSON.stringify(body, null, 2)].join("\n");
  return html`<h2>Example of an answer</h2>
<pre><code>${text}</code></pre>`;
}

/** The path of a call that can answer with the code. */
function examplePath(code: ErrorCode): string {
  const specific = operations.find(([, { errors }]) => errors.includes(code));
  const general = code === "resource_not_found" ? routes.getRun : routes.createRun;
  const { path } = specific?.[1] ?? general;
  return BASE + path.replace(/\{\w+\}/g, exampleId);
}

function runExample(code: ErrorCode): Html {
  const { meaning, remedy, retryable } = errorEntry(code);
  const run = {
    run_id: exampleId,
    state: "FAILED",
    status_message: { message: meaning, error_code: code, retryable, remedy },
  };
  return html`<h2>Example of a run</h2>
<pre><code>${JSON.stringify(run, null, 2)}</code></pre>`;
}
