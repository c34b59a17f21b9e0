// An answer as text for other programs: JSON as it is on the wire, its hits as CSV and Markdown.

import { el } from "./dom.js";

// What a column holds where the wire leaves its field out: the default of its type.
const DEFAULTS = { name: "", family: "", task: "", parameters: "0" };
const COLUMNS = [...Object.keys(DEFAULTS), "score"];

const FORMS = {
  JSON: (result) => JSON.stringify(result, null, 2),
  CSV: (result) => [COLUMNS, ...cells(result)].map((row) => row.map(quoted).join(",")).join("\r\n"),
  Markdown: (result) => [COLUMNS, COLUMNS.map(() => "---"), ...cells(result)].map((row) => `| ${row.map(piped).join(" | ")} |`).join("\n"),
};

// Buttons that copy an answer, and say that it was copied.
export function copyTools(result) {
  const said = el("span", { class: "dim", role: "status" });
  const shown = el("textarea", { rows: 6, readonly: true, hidden: true, "aria-label": "The answer as text" });
  const copy = async (name) => {
    const text = FORMS[name](result);
    try {
      // Browsers lend no clipboard to a page that came over plain HTTP from another machine.
      await navigator.clipboard.writeText(text);
      shown.hidden = true;
      said.textContent = `Copied as ${name}.`;
    } catch {
      shown.value = text;
      shown.hidden = false;
      shown.select();
      said.textContent = `This browser lends no clipboard: copy the ${name} from the field.`;
    }
  };
  return el("div", { class: "copying" },
    el("p", { class: "tools", role: "group", "aria-label": "Copy the answer" }, el("span", { class: "dim" }, "Copy as"),
      Object.keys(FORMS).map((name) => el("button", { type: "button", onclick: () => copy(name) }, name)), said),
    shown);
}

function cells({ hits = [] }) {
  return hits.map(({ architecture, score = 0 }) => [...Object.entries(DEFAULTS).map(([column, none]) => String(architecture[column] ?? none)), score.toFixed(3)]);
}

// RFC 4180. A spreadsheet computes what begins like a formula; an apostrophe makes it text.
function quoted(text) {
  const safe = /^[=+@\t\r-]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

function piped(text) {
  return text.replaceAll("\\", "\\\\").replaceAll("|", "\\|").replaceAll(/\s+/g, " ");
}
