import { defineConfig } from "@playwright/test";
import base from "./playwright.config";

/** Tests the page that the first commands in README open (tests/e2e/readme.rs); `README_PAGE` is its address. */
export default defineConfig({ ...base, testDir: "readme", testMatch: "*.readme.ts", workers: 1 });
