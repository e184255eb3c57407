import type { Room } from "../words";

export const chats: Room<"chats"> = {
  newChat: "新建会话",
};
