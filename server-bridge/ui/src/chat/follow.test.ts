// @vitest-environment jsdom
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { follows, isNearEnd, type Look, onTurnedUp } from "./follow";

/** A list of 1,000 px, of which 400 px are visible, that is scrolled to its end. */
const END: Look = { top: 600, height: 1_000, shown: 400 };
const at = (top: number, height = 1_000): Look => ({ ...END, top, height });

test("a list that grows goes on following its end", () => {
  expect(follows(true, END, at(600, 1_400))).toBe(true);
  expect(follows(true, at(600, 1_400), at(1_000, 1_400))).toBe(true);
});

test("the first, short steps of a scroll upwards do not bring the list back to its end", () => {
  let [following, last] = [false, END];
  for (const top of [598, 590, 570, 556]) {
    expect(isNearEnd(at(top))).toBe(true);
    following = follows(following, last, at(top));
    last = at(top);
    expect(following).toBe(false);
  }
});

test("a scroll far upwards ends the following, and a scroll down to the end begins it", () => {
  expect(follows(true, END, at(300))).toBe(false);
  expect(follows(true, END, at(300, 1_200))).toBe(false);
  expect(follows(false, at(300), at(400))).toBe(false);
  expect(follows(false, at(400), at(560))).toBe(true);
});

test("a list that becomes shorter goes on as before, or follows if its end is all that is left", () => {
  expect(follows(true, END, at(500, 960))).toBe(true);
  expect(follows(false, at(500), at(450, 900))).toBe(false);
  expect(follows(false, at(500), at(400, 800))).toBe(true);
});

let list: HTMLElement;
const turned = vi.fn();
beforeEach(() => {
  document.body.innerHTML = `<div id="list"><pre style="overflow-y: auto">x</pre><p>y</p><textarea></textarea></div>`;
  list = document.querySelector<HTMLElement>("#list")!;
  sized(list, 600);
  onTurnedUp(list, turned);
});
afterEach(() => turned.mockReset());

/** Gives an element a size, which jsdom does not lay out. */
function sized(element: Element, top: number): void {
  Object.defineProperties(element, { scrollHeight: { value: 1_000 }, clientHeight: { value: 400 } });
  element.scrollTop = top;
}

test.each([
  ["a wheel upwards", "p", new WheelEvent("wheel", { deltaY: -1, bubbles: true }), 1],
  ["a wheel downwards", "p", new WheelEvent("wheel", { deltaY: 1, bubbles: true }), 0],
  ["a wheel that zooms", "p", new WheelEvent("wheel", { deltaY: -1, ctrlKey: true, bubbles: true }), 0],
  ["a wheel over output that cannot scroll", "pre", new WheelEvent("wheel", { deltaY: -1, bubbles: true }), 1],
  ["the key PageUp", "p", new KeyboardEvent("keydown", { key: "PageUp", bubbles: true }), 1],
  ["the key ArrowUp in a field", "textarea", new KeyboardEvent("keydown", { key: "ArrowUp", bubbles: true }), 0],
  ["the space bar", "p", new KeyboardEvent("keydown", { key: " ", bubbles: true }), 0],
])("%s", (_, target, event, times) => {
  list.querySelector(target)!.dispatchEvent(event);
  expect(turned).toHaveBeenCalledTimes(times);
});

test("a wheel scrolls the output of a card, while there is more of it above", () => {
  const output = list.querySelector("pre")!;
  sized(output, 100);
  output.dispatchEvent(new WheelEvent("wheel", { deltaY: -1, bubbles: true }));
  expect(turned).not.toHaveBeenCalled();
  output.scrollTop = 0;
  output.dispatchEvent(new WheelEvent("wheel", { deltaY: -1, bubbles: true }));
  expect(turned).toHaveBeenCalledOnce();
});
