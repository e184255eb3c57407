import type { Room } from "../words";

export const panels: Room<"panels"> = {
  terminal: "终端",
  files: "文件",
  tasks: "后台任务",
};
