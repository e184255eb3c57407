/** The models that a provider lists, for the form of a subscription. */
import { useRef, useState } from "react";
import { useRequests } from "../requests";
import type { Subscription } from "../types";
import { type Draft, placeOf } from "./draft";

export interface Offer {
  state: "unasked" | "asking" | "listed" | "unlisted" | "failed";
  names: string[];
  /** True if the list is complete. */
  complete: boolean;
  error: unknown;
}

const UNASKED: Offer = { state: "unasked", names: [], complete: false, error: null };

/** The models offered at the draft's address, and a function that loads them: once for each address and key. */
export function useOffer(draft: Draft, known: Subscription | null): [Offer, () => void] {
  const requests = useRequests();
  const place = placeOf(draft, known);
  const key = JSON.stringify(place);
  const asked = useRef("");
  const [answer, setAnswer] = useState({ key: "", offer: UNASKED });
  const ask = () => {
    if (place === null || asked.current === key) return;
    asked.current = key;
    const take = (offer: Offer) => {
      if (asked.current === key) setAnswer({ key, offer });
    };
    take({ ...UNASKED, state: "asking" });
    requests.offeredModels(place).then(
      ({ models, complete }) =>
        take(models === null ? { ...UNASKED, state: "unlisted" } : { ...UNASKED, state: "listed", names: models, complete }),
      (error: unknown) => take({ ...UNASKED, state: "failed", error }),
    );
  };
  return [answer.key === key ? answer.offer : UNASKED, ask];
}
