export const chats = {
  newChat: "New chat",
} as const;
