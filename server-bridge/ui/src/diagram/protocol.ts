/** The messages between the page and the frame that draws its diagrams. */

export interface Wanted {
  id: number;
  source: string;
  isDark: boolean;
}

/** Without `svg` the source is no diagram. */
export interface Drawn {
  id: number;
  svg?: string;
}
