// What the server is asked. Every answer is JSON; a refusal is a google.rpc.Status.

const TOKEN = "nar.token";
// Of google.rpc.Code.
const NOT_FOUND = 5;

class Refusal extends Error {
  constructor(status, code) {
    super(status);
    this.http = code;
  }
}

async function asked(path, options) {
  const token = sessionStorage.getItem(TOKEN);
  const headers = { ...options.headers, ...(token ? { authorization: `Bearer ${token}` } : {}) };
  let reply;
  try {
    reply = await fetch(path, { ...options, headers, credentials: "omit" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refusal("The server does not answer. Is `nar web` still running?", 0);
  }
  if (reply.status === 401 && wantedToken()) return asked(path, options);
  if (reply.ok) return reply.json();
  const said = await reply.json().catch(() => ({}));
  throw new Refusal(said.message || `The server answered ${reply.status}.`, reply.status);
}

// A token that a person has typed stays in this tab.
function wantedToken() {
  const token = window.prompt("This server wants a token:");
  if (token) sessionStorage.setItem(TOKEN, token);
  return Boolean(token);
}

export function post(path, body, signal) {
  return asked(path, {
    method: "POST",
    body: JSON.stringify(body),
    headers: { "content-type": "application/json" },
    signal,
  });
}

export function get(path, signal) {
  return asked(path, { method: "GET", signal });
}

export function send(file, signal) {
  return asked(`/page/file?name=${encodeURIComponent(file.name)}`, { method: "POST", body: file, signal });
}

// Some queries, and their results; what is wrong with one of them is an error.
export async function search(queries, signal) {
  const { results } = await post("/v1/search", { queries }, signal);
  for (const { status } of results) if (status?.code) throw new Refusal(status.message, status.code === NOT_FOUND ? 404 : 400);
  return results;
}
