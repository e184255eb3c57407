import { expect, it } from "vitest";
import { countWords } from "./countWords";

it("counts words between spaces", () => {
  expect(countWords("")).toBe(0);
  expect(countWords("  one two\n\nthree ")).toBe(3);
});

it("counts the words of a language without spaces", () => {
  const words = countWords("我们需要先检查服务器的日志。");
  expect(words).toBeGreaterThan(4);
  expect(words).toBeLessThan(14);
});

it("estimates the words of a long text, which costs little", () => {
  const sentence = "我们需要先检查服务器的日志。";
  const begun = performance.now();
  const words = countWords(sentence.repeat(100_000));
  expect(performance.now() - begun).toBeLessThan(1_000);
  expect(Math.abs(words / (countWords(sentence) * 100_000) - 1)).toBeLessThan(0.05);
});
