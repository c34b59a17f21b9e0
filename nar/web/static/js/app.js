// The page: which view an address means, what is dropped on it, keys that work everywhere.

import { post, send } from "./api.js";
import { askView } from "./ask.js";
import { diffView } from "./diff.js";
import { el } from "./dom.js";
import { human, whole } from "./format.js";
import { link, parsed } from "./links.js";
import { mapView } from "./map.js";
import { modelView } from "./model.js";
import { keep } from "./models.js";
import { switchTheme, useTheme } from "./theme.js";
import { usersView } from "./users.js";

const VIEWS = { ask: askView, map: mapView, model: modelView, diff: diffView, users: usersView };
// Chosen: more names than these are no help to somebody who has misspelt one.
const SHOWN_NEAR = 5;
const main = document.getElementById("main");
let leaving = new AbortController();

function show() {
  leaving.abort();
  leaving = new AbortController();
  const address = parsed(location.hash);
  const view = VIEWS[address.view] ?? askView;
  for (const each of document.querySelectorAll("[data-view]")) {
    each.toggleAttribute("aria-current", each.dataset.view === address.view);
  }
  main.className = `view-${address.view}`;
  main.replaceChildren();
  run(view(main, address, leaving.signal), leaving.signal);
}

// Wait for a view; what goes wrong is said where it would have been.
async function run(work, signal) {
  try {
    await work;
  } catch (error) {
    if (!signal.aborted) complain(error);
  }
}

function complain(error) {
  main.querySelector(".busy")?.remove();
  main.querySelector(".error")?.remove();
  const near = (error.near ?? []).slice(0, SHOWN_NEAR).map(({ name }) => [el("a", { href: link("ask", name) }, name), " "]);
  main.append(el("p", { class: "error", role: "alert" }, error.message, near.length ? [". Did you mean ", near] : []));
}

let reading = new AbortController();

// Read a file; one that is still read is given up for it.
async function take(file) {
  reading.abort();
  const own = reading = new AbortController();
  const seconds = el("span", { "aria-hidden": "true" });
  const busy = el("p", { class: "reading" }, el("span", { class: "busy", role: "status" }, `Reading ${file.name} (${human(file.size)}B) …`), " ", seconds, " ",
    el("button", { type: "button", onclick: () => own.abort() }, "Cancel"));
  const began = performance.now();
  const clock = setInterval(() => { seconds.textContent = `${Math.round((performance.now() - began) / 1000)} s`; }, 1000);
  main.querySelector(".error")?.remove();
  main.prepend(busy);
  try {
    const address = link("ask", keep(file.name, await send(file, own.signal)));
    // A file of the same name is answered anew, though the address stays.
    if (location.hash === address) show();
    else location.hash = address;
  } catch (error) {
    if (!own.signal.aborted) complain(error);
  } finally {
    clearInterval(clock);
    busy.remove();
  }
}

function takeDrops() {
  const sign = document.getElementById("dropping");
  let depth = 0;
  const isFile = (event) => event.dataTransfer?.types.includes("Files");
  addEventListener("dragenter", (event) => isFile(event) && (sign.hidden = ++depth === 0));
  addEventListener("dragleave", (event) => isFile(event) && (sign.hidden = --depth <= 0));
  addEventListener("dragover", (event) => isFile(event) && event.preventDefault());
  addEventListener("drop", (event) => {
    if (!isFile(event)) return;
    event.preventDefault();
    depth = 0;
    sign.hidden = true;
    take(event.dataTransfer.files[0]);
  });
  addEventListener("nar:file", (event) => take(event.detail));
}

function takeKeys() {
  addEventListener("keydown", (event) => {
    const isTyping = event.target.closest?.("input, textarea, select");
    if (event.key === "/" && !isTyping && !event.ctrlKey && !event.metaKey) {
      const box = main.querySelector("input[type=search]");
      if (box) {
        event.preventDefault();
        box.focus();
        box.select();
      }
    }
  });
}

async function tellWhatIsHeld() {
  const said = await post("/v1/describe", {});
  document.getElementById("held").textContent = `${whole(said.indexRows)} architectures`;
  document.getElementById("held").title = `NAR ${said.version}`;
}

useTheme();
document.getElementById("theme").addEventListener("click", switchTheme);
addEventListener("hashchange", show);
takeDrops();
takeKeys();
show();
tellWhatIsHeld().catch(complain);
