/** The settings of TanStack Query: what the page does when a view asks the server for a document, or a user for a change. */
import { QueryClient } from "@tanstack/react-query";

export function createQueries(): QueryClient {
  // The page says when the server is away (`events.ts`): nothing waits for what the browser thinks of the network.
  const networkMode = "always";
  return new QueryClient({
    defaultOptions: {
      // A view that is opened asks; what was shown before may be of another user, and is forgotten with its view.
      queries: { networkMode, retry: false, gcTime: 0, refetchOnWindowFocus: false, refetchOnReconnect: false },
      mutations: { networkMode, retry: false, gcTime: 0 },
    },
  });
}
