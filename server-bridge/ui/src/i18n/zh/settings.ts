import type { Room } from "../words";

export const settings: Room<"settings"> = {
  title: "设置",
};
