import type { Room } from "../words";

export const chat: Room<"chat"> = {
  you: "你",
};
