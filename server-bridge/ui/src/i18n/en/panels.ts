export const panels = {
  terminal: "Terminal",
  files: "Files",
  tasks: "Background tasks",
} as const;
