export const setup = {
  welcome: "Welcome",
} as const;
