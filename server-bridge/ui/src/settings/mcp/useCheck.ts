import { useState } from "react";
import { useAction } from "../../lib/useAction";
import { useRequests } from "../requests";

/** Connects to a server and asks it for its tools; `count` is how many it listed. */
export function useCheck(name: string, onChecked: () => Promise<void>) {
  const requests = useRequests();
  const [count, setCount] = useState<number | null>(null);
  const { run, busy, error } = useAction(async () => {
    setCount(null);
    const { tools } = await requests.checkMcpServer(name);
    await onChecked();
    setCount(tools.length);
  });
  return { run, busy, error, count };
}
