// The columns of every architecture, asked for once: names, labels, and where they stand.

import { get } from "./api.js";

let asked = null;

// A view that was left meanwhile gets an AbortError, and draws nothing over the next view.
export async function columns(signal) {
  asked ??= get("/page/map").then(read, (error) => {
    asked = null;
    throw error;
  });
  const known = await asked;
  signal?.throwIfAborted();
  return known;
}

function read(said) {
  const labels = Object.fromEntries(Object.entries(said.labels).map(([name, column]) =>
    [name, { values: column.values, codes: numbers(column.codes) }]));
  return {
    names: said.names,
    labels,
    points: said.points === null ? null : numbers(said.points),
    row: new Map(said.names.map((name, row) => [name, row])),
  };
}

// Unsigned 16-bit integers, little endian, out of base64.
function numbers(text) {
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  return new Uint16Array(bytes.buffer);
}
