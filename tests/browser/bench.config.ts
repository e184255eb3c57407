import { defineConfig } from "@playwright/test";
import base from "./playwright.config";

/** The tests of `scripts/bench page`: run one at a time, with no other tests at the same time. */
export default defineConfig({ ...base, testDir: "bench", testMatch: "*.bench.ts", workers: 1, fullyParallel: false, timeout: 180_000 });
