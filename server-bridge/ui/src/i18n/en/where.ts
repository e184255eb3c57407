export const where = {
  activeRunner: "Active runner",
} as const;
