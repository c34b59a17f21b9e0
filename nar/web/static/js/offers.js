// What the server can be asked for, asked once: conditions of a filter, and kinds of files.

import { get } from "./api.js";

let asked = null;

export async function offers(signal) {
  asked ??= get("/page/offers").catch((error) => {
    asked = null;
    throw error;
  });
  const known = await asked;
  signal?.throwIfAborted();
  return known;
}
