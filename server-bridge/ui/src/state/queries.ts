/** The settings of TanStack Query: the behaviour when a view loads a document or a user changes one. */
import { QueryClient } from "@tanstack/react-query";

export function createQueries(): QueryClient {
  // The page itself reports when the server is away (`events.ts`): nothing depends on the browser's idea of the network.
  const networkMode = "always";
  return new QueryClient({
    defaultOptions: {
      // A view loads when it is opened; earlier data may be another user's, and is dropped with its view.
      queries: { networkMode, retry: false, gcTime: 0, refetchOnWindowFocus: false, refetchOnReconnect: false },
      mutations: { networkMode, retry: false, gcTime: 0 },
    },
  });
}
