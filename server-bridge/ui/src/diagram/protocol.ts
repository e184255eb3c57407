/** The messages between the page and the frame that draws its diagrams. */

export interface Wanted {
  id: number;
  source: string;
  isDark: boolean;
}

/** The answer to a request; without `svg` if the source is not a diagram. */
export interface Drawn {
  id: number;
  svg?: string;
}
