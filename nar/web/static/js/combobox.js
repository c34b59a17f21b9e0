// A box for a name, with suggestions: arrows choose, Enter takes, Escape closes.

import { get } from "./api.js";
import { el, later } from "./dom.js";
import { label, ownNames } from "./models.js";

const PAUSE_MS = 60;
let boxes = 0;

// `take(name)` is called with what was chosen.
export function combobox({ value = "", title, hint = "", take }) {
  const id = `names-${++boxes}`;
  const list = el("ul", { id, role: "listbox", hidden: true, "aria-label": "Suggestions" });
  const input = el("input", {
    type: "search", value: label(value), placeholder: hint, autocomplete: "off", spellcheck: "false",
    role: "combobox", "aria-label": title, "aria-expanded": "false", "aria-controls": id,
    "aria-autocomplete": "list",
  });
  let chosen = -1;
  let names = [];
  let asking = new AbortController();

  function choose(position) {
    chosen = position;
    [...list.children].forEach((item, at) => item.setAttribute("aria-selected", String(at === chosen)));
    input.setAttribute("aria-activedescendant", chosen >= 0 ? `${id}-${chosen}` : "");
    list.children[chosen]?.scrollIntoView({ block: "nearest" });
  }

  function close() {
    list.hidden = true;
    input.setAttribute("aria-expanded", "false");
    chosen = -1;
  }

  function accept(name) {
    asking.abort();
    close();
    input.value = label(name);
    take(name);
  }

  function offer(suggestions) {
    names = suggestions.map((each) => each.name);
    list.replaceChildren(...suggestions.map((each, at) => el(
      "li",
      { id: `${id}-${at}`, role: "option", "aria-selected": "false", onmousedown: (event) => { event.preventDefault(); accept(each.name); } },
      el("span", { class: "name" }, label(each.name)), el("span", { class: "dim" }, each.family),
    )));
    const isOpen = names.length > 0 && document.activeElement === input;
    list.hidden = !isOpen;
    input.setAttribute("aria-expanded", String(isOpen));
    chosen = -1;
  }

  const suggest = later(PAUSE_MS, async () => {
    asking.abort();
    asking = new AbortController();
    const text = input.value.trim();
    const own = ownNames().filter((name) => text && label(name).includes(text));
    try {
      const known = text ? await get(`/page/names?text=${encodeURIComponent(text)}`, asking.signal) : [];
      offer([...own.map((name) => ({ name, family: "yours" })), ...known]);
    } catch (error) {
      if (error.name !== "AbortError") close();
    }
  });

  async function enter() {
    if (chosen >= 0) return accept(names[chosen]);
    const text = input.value.trim();
    if (!text) return;
    const own = ownNames().find((name) => label(name) === text);
    if (own) return accept(own);
    const known = await get(`/page/names?text=${encodeURIComponent(text)}`).catch(() => []);
    const exact = known.find((each) => each.name === text) ?? known.find((each) => each.name.endsWith(`:${text}`));
    accept(exact?.name ?? text);
  }

  input.addEventListener("input", suggest);
  input.addEventListener("blur", close);
  input.addEventListener("keydown", (event) => {
    const keys = {
      ArrowDown: () => choose(Math.min(chosen + 1, names.length - 1)),
      ArrowUp: () => choose(Math.max(chosen - 1, -1)),
      Enter: enter,
      Escape: close,
    };
    if (keys[event.key]) {
      event.preventDefault();
      keys[event.key]();
    }
  });
  return el("div", { class: "combobox" }, input, list);
}
