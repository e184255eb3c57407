/** Light, dark, or as the system has it: kept in the browser, since each screen has its own light. */
export const THEMES = ["system", "light", "dark"] as const;
export type Theme = (typeof THEMES)[number];

const KEY = "sandbridge.theme";

/** The kept choice; anything else that is found there counts as "system". */
export function keptTheme(): Theme {
  const kept = window.localStorage.getItem(KEY);
  return THEMES.find((theme) => theme === kept) ?? "system";
}

/** Shows a theme, which `base.css` does by `data-theme`, and keeps it. */
export function chooseTheme(theme: Theme): void {
  window.localStorage.setItem(KEY, theme);
  showTheme(theme);
}

export function showTheme(theme: Theme): void {
  if (theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}

/** The sizes of the page's text; each screen has its own, as it has its own light. */
export const SIZES = ["small", "usual", "large", "huge"] as const;
export type Size = (typeof SIZES)[number];

const SIZE_KEY = "sandbridge.size";

/** The kept choice; anything else that is found there counts as "usual". */
export function keptSize(): Size {
  const kept = window.localStorage.getItem(SIZE_KEY);
  return SIZES.find((size) => size === kept) ?? "usual";
}

/** Shows a size, which `base.css` does by `data-size`, and keeps it. */
export function chooseSize(size: Size): void {
  window.localStorage.setItem(SIZE_KEY, size);
  showSize(size);
}

export function showSize(size: Size): void {
  if (size === "usual") delete document.documentElement.dataset.size;
  else document.documentElement.dataset.size = size;
}
