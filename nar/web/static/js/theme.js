// Dark or light: as the system has it, until a person switches.

const KEY = "nar.theme";
const dark = matchMedia("(prefers-color-scheme: dark)");

function isDark() {
  const chosen = localStorage.getItem(KEY);
  return chosen ? chosen === "dark" : dark.matches;
}

export function useTheme() {
  const apply = () => {
    document.documentElement.dataset.theme = isDark() ? "dark" : "light";
    const button = document.getElementById("theme");
    button.textContent = isDark() ? "Light" : "Dark";
    dispatchEvent(new CustomEvent("nar:theme"));
  };
  dark.addEventListener("change", apply);
  apply();
}

export function switchTheme() {
  localStorage.setItem(KEY, isDark() ? "light" : "dark");
  useTheme();
}

// Colours for categories that people with any colour vision tell apart (after Paul Tol).
export function palette() {
  return isDark()
    ? ["#77aadd", "#ee8866", "#44bb99", "#eedd88", "#ffaabb", "#99ddff", "#bbcc33", "#cc99dd", "#aaaa00", "#dddddd"]
    : ["#0077bb", "#cc3311", "#009988", "#ddaa33", "#882255", "#33bbee", "#117733", "#aa4499", "#999933", "#332288"];
}

export function rest() {
  return isDark() ? "#4a5260" : "#c3c9d2";
}
