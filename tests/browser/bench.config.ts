import { defineConfig } from "@playwright/test";
import base from "./playwright.config";

/** The tests of `scripts/bench page`: one at a time, with nothing beside them. */
export default defineConfig({ ...base, testDir: "bench", testMatch: "*.bench.ts", workers: 1, fullyParallel: false, timeout: 180_000 });
