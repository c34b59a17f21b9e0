// What uses this block: the architectures that contain a motif type, by family and by name.

import { post } from "./api.js";
import { nameOf, pictured } from "./blocks.js";
import { el } from "./dom.js";
import { human, whole } from "./format.js";
import { link } from "./links.js";
import { label, targetOf } from "./models.js";

const FAMILIES = 24;

export async function usersView(main, { parts: [code], query }, signal) {
  document.title = "What uses this block · NAR";
  main.append(el("p", { class: "busy" }, "Looking …"));
  const told = await post("/page/users", { code }, signal);
  const motif = await shown(code, query.from ?? told.users[0]?.name, signal);
  const picture = motif ? await block(motif) : null;
  signal.throwIfAborted();
  const list = el("div", {}, table(told));
  main.replaceChildren(
    query.from ? el("p", { class: "dim" }, "Out of ", el("a", { href: link("model", query.from, { block: code }) }, label(query.from))) : "",
    el("h1", {}, motif ? nameOf(motif, 6) : code),
    el("p", { class: "lead" }, `${whole(told.total)} architectures of ${whole(told.families.length)} families contain this block.`),
    el("div", { class: `columns ${picture ? "users" : ""}` }, picture, families(told, choosing(told, list, signal)), list));
}

async function block(motif) {
  return el("section", { class: "opened", "aria-label": "The block" },
    el("p", { class: "dim" }, `${motif.operators.length} operators · ${motif.code}`), await pictured(motif));
}

// What shows the users of one family, or all of them: the last choice counts, whatever comes last.
function choosing(told, list, signal) {
  let asking = new AbortController();
  return async (family) => {
    asking.abort();
    asking = new AbortController();
    const current = asking.signal;
    try {
      const wanted = family ? await post("/page/users", { code: told.code, family }, AbortSignal.any([signal, current])) : told;
      list.replaceChildren(table(wanted));
    } catch (error) {
      if (error.name !== "AbortError") list.replaceChildren(el("p", { class: "error", role: "alert" }, error.message));
    }
  };
}

// The motif type itself, out of a model that has it.
async function shown(code, name, signal) {
  if (!name) return null;
  const view = await post("/page/model", { ...targetOf(name), name }, signal);
  return view.motifs.find((each) => each.code === code) ?? null;
}

function families(told, show) {
  const most = told.families[0]?.[1] ?? 1;
  const choose = (family, button) => {
    const isOn = button.getAttribute("aria-pressed") === "true";
    for (const each of list.querySelectorAll("button")) each.setAttribute("aria-pressed", "false");
    button.setAttribute("aria-pressed", String(!isOn));
    show(isOn ? "" : family);
  };
  const list = el("ul", { class: "families", "aria-label": "Families" }, told.families.slice(0, FAMILIES).map(([family, count]) => {
    const bar = el("i", { "aria-hidden": "true" });
    bar.style.width = `${(100 * count) / most}%`;
    const button = el("button", { type: "button", "aria-pressed": "false", onclick: () => choose(family, button) }, bar, el("span", {}, family), el("small", {}, whole(count)));
    return el("li", {}, button);
  }));
  if (told.families.length > FAMILIES) list.append(el("li", { class: "dim" }, `and ${told.families.length - FAMILIES} more families`));
  return list;
}

function table({ users, code, total }) {
  const said = users.length < total ? `${whole(users.length)} of ${whole(total)}, the most frequent users first` : "";
  return el("table", { class: "hits" }, el("caption", {}, said),
    el("thead", {}, el("tr", {}, ["Architecture", "Family", "Task", "Parameters", "Times"].map((name, at) => el("th", { scope: "col", class: at > 2 ? "number" : null }, name)))),
    el("tbody", {}, users.map((each) => el("tr", {},
      el("th", { scope: "row" }, el("a", { class: "name", href: link("model", each.name, { block: code }) }, each.name)),
      el("td", { "data-label": "Family" }, each.family), el("td", { "data-label": "Task" }, each.task),
      el("td", { class: "number", "data-label": "Parameters" }, human(each.parameters)), el("td", { class: "number", "data-label": "Times" }, whole(each.occurrences))))));
}
