import type { Room } from "../words";

export const where: Room<"where"> = {
  activeRunner: "当前运行器",
};
