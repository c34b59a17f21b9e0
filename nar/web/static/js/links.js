// The address of every view; what follows the # can be shared.

export function link(view, ...parts) {
  const query = typeof parts.at(-1) === "object" ? parts.pop() : {};
  const path = [view, ...parts.map(encodeURIComponent)].join("/");
  const given = Object.entries(query).filter(([, value]) => value);
  const text = new URLSearchParams(given).toString();
  return `#/${path}${text ? `?${text}` : ""}`;
}

export function parsed(hash) {
  const [path, query] = hash.replace(/^#\/?/, "").split("?");
  const [view, ...parts] = path.split("/");
  return {
    view: view || "ask",
    parts: parts.filter(Boolean).map(decodeURIComponent),
    query: Object.fromEntries(new URLSearchParams(query ?? "")),
  };
}
