import { type ComponentType, lazy } from "react";

/** A component of a separate chunk. */
export interface Prepared<View extends ComponentType> {
  /** Loads the chunk ahead of its first use. A failure is reported when the component is used. */
  prepare(): void;
  /** The component: if its chunk is loaded, one that renders at once. */
  view(): View;
}

/**
 * Like React's `lazy`, for a component that may be loaded ahead: React shows what stands in for a lazy component for at least 300 ms,
 * even if its chunk is there.
 */
export function prepared<View extends ComponentType>(load: () => Promise<{ default: View }>): Prepared<View> {
  let ready: View | null = null;
  const late = lazy(load) as unknown as View;
  return {
    prepare: () => {
      load().then(
        (loaded) => (ready = loaded.default),
        () => {},
      );
    },
    view: () => ready ?? late,
  };
}
