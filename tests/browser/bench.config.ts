import { defineConfig } from "@playwright/test";
import base from "./playwright.config";

/** What `scripts/bench page` runs: one at a time, with nothing beside it. */
export default defineConfig({ ...base, testDir: "bench", testMatch: "*.bench.ts", workers: 1, fullyParallel: false, timeout: 180_000 });
