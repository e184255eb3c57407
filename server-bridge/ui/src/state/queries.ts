/** The settings of TanStack Query, for loading data and for changes by the user. */
import { QueryClient } from "@tanstack/react-query";

export function createQueries(): QueryClient {
  // The page itself detects when the server is unreachable (`events.ts`), so the browser's network state is ignored.
  const networkMode = "always";
  return new QueryClient({
    defaultOptions: {
      // A view loads its data when it is opened. Data is dropped with its view, since the next user must not see it.
      queries: { networkMode, retry: false, gcTime: 0, refetchOnWindowFocus: false, refetchOnReconnect: false },
      mutations: { networkMode, retry: false, gcTime: 0 },
    },
  });
}
