import { useState } from "react";
import { ApiError } from "../../api";
import { useAction } from "../../lib/useAction";
import { useRequests } from "../requests";

/** Connects to a server and asks it for its tools; `count` is how many it listed. A server may require a login first. */
export function useCheck(name: string, onChecked: () => Promise<void>) {
  const requests = useRequests();
  const [count, setCount] = useState<number | null>(null);
  const { run, busy, error, problem } = useAction(async () => {
    setCount(null);
    const { tools } = await requests.checkMcpServer(name);
    await onChecked();
    setCount(tools.length);
  });
  const wantsLogin = problem instanceof ApiError && problem.kind === "login_required";
  return { run, busy, error, count, wantsLogin };
}
