/** The current time, updated regularly, for texts such as "5 min ago". */
import { useEffect, useState } from "react";
import { CLOCK_TICK_MS } from "../limits";

export function useNow(): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), CLOCK_TICK_MS);
    return () => clearInterval(timer);
  }, []);
  return now;
}
