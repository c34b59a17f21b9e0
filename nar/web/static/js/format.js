// Numbers and names as people read them.

const UNITS = [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]];

export function human(value) {
  const number = Number(value ?? 0);
  const unit = UNITS.find(([size]) => number >= size);
  return unit ? `${(number / unit[0]).toFixed(1)}${unit[1]}` : number.toFixed(0);
}

export function whole(value) {
  return Number(value ?? 0).toLocaleString("en-US");
}

export function percent(share) {
  return `${Math.round(100 * share)}%`;
}

// "30M" as 30,000,000; null where it is no number.
export function counted(text) {
  const match = /^\s*(\d+\.?\d*|\.\d+)\s*([kmgtb]?)\s*$/i.exec(text);
  if (!match) return null;
  const factor = { k: 1e3, m: 1e6, g: 1e9, b: 1e9, t: 1e12 }[match[2].toLowerCase()] ?? 1;
  return Math.round(Number(match[1]) * factor);
}

// Operators with those that repeat in a row said once: "conv batch_norm relu x2".
export function summary(operators, most = 4) {
  const distinct = [...new Set(operators)];
  const shown = distinct.slice(0, most).join(" · ");
  return distinct.length > most ? `${shown} · …` : shown;
}
