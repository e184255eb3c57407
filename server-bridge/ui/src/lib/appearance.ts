/** The page's appearance, kept in the browser, since light and viewing distance differ from screen to screen. */
export const THEMES = ["system", "light", "dark"] as const;
export type Theme = (typeof THEMES)[number];

/** The sizes of the page's text. */
export const SIZES = ["small", "usual", "large", "huge"] as const;
export type Size = (typeof SIZES)[number];

/** A choice that is stored under a name, and applied by `base.css` through `data-NAME`, which the default choice leaves out. */
function choice<Value extends string>(name: string, values: readonly Value[], usual: Value) {
  const key = `sandbridge.${name}`;
  const show = (value: Value): void => {
    if (value === usual) delete document.documentElement.dataset[name];
    else document.documentElement.dataset[name] = value;
  };
  return {
    /** The stored choice; the default if the stored value is unknown. */
    kept: (): Value => {
      const kept = window.localStorage.getItem(key);
      return values.find((value) => value === kept) ?? usual;
    },
    show,
    /** Applies it and stores it. */
    choose: (value: Value): void => {
      window.localStorage.setItem(key, value);
      show(value);
    },
  };
}

export const { kept: keptTheme, show: showTheme, choose: chooseTheme } = choice<Theme>("theme", THEMES, "system");
export const { kept: keptSize, show: showSize, choose: chooseSize } = choice<Size>("size", SIZES, "usual");
