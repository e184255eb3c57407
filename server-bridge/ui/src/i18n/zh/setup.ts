import type { Room } from "../words";

export const setup: Room<"setup"> = {
  welcome: "欢迎",
};
