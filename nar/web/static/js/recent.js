// What was asked last: names of the index stay in this browser, models of one's own in their tab.

import { isOwn, ownNames } from "./models.js";

const KEY = "nar.recent";
// Chosen: so many fit in two lines of the first screen.
const KEPT = 8;

function stored() {
  try {
    const names = JSON.parse(localStorage.getItem(KEY) ?? "[]");
    return Array.isArray(names) ? names.filter((each) => typeof each === "string") : [];
  } catch {
    // Something else wrote there, or the browser keeps nothing: nothing is recent.
    return [];
  }
}

// What was asked lately, the last first; models of one's own before names.
export function recent() {
  return [...ownNames().reverse(), ...stored()].slice(0, KEPT);
}

// Remember that a name was answered.
export function remember(name) {
  if (isOwn(name)) return;
  try {
    localStorage.setItem(KEY, JSON.stringify([name, ...stored().filter((each) => each !== name)].slice(0, KEPT)));
  } catch {
    // The browser keeps nothing; the answer stands all the same.
  }
}

export function forget() {
  localStorage.removeItem(KEY);
}
