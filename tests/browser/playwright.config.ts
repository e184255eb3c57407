import { defineConfig } from "@playwright/test";

/** For a browser on a busy machine: anything slower than this has failed. */
const EXPECT_MS = 30_000;
const TEST_MS = 180_000;

export default defineConfig({
  testDir: "specs",
  fullyParallel: true,
  retries: 0,
  workers: process.env.WORKERS ? Number(process.env.WORKERS) : 2,
  timeout: TEST_MS,
  expect: { timeout: EXPECT_MS },
  reporter: "line",
  outputDir: process.env.BROWSER_RESULTS ?? "../../target/browser",
  use: {
    actionTimeout: EXPECT_MS,
    trace: "off",
    launchOptions: {
      // Chromium without a window, which would take a third of each test's time.
      executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium-headless-shell",
      args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
    },
  },
});
