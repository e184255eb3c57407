export const chat = {
  you: "You",
} as const;
