// @vitest-environment jsdom
import { expect, test } from "vitest";
import { isLoginReturn, loginPage, takeLoginReturn } from "./loginReturn";

test("a login redirect has a state, and a code or an error", () => {
  for (const search of ["?code=c&state=s", "?state=s&iss=i&code=c", "?error=access_denied&state=s"]) expect(isLoginReturn(search), search).toBe(true);
  for (const search of ["", "?", "?code=c", "?state=s", "?error=x", "?barcode=c&state=s", "?q=code%3Dc%26state%3Ds"]) expect(isLoginReturn(search), search).toBe(false);
});

test("it is taken once, complete, and is removed from the address and the history", () => {
  const steps = window.history.length;
  window.history.replaceState({ chat: "a" }, "", "/?code=c%2Fd&state=s#/settings/mcp");
  expect(takeLoginReturn()).toBe(`${window.location.origin}/?code=c%2Fd&state=s#/settings/mcp`);
  expect(window.location.href).toBe(`${window.location.origin}/#/settings/mcp`);
  expect([window.history.state, window.history.length]).toEqual([null, steps]);
  expect(takeLoginReturn()).toBeNull();
});

test("any other address stays unchanged", () => {
  window.history.replaceState({ chat: "a" }, "", "/?code=c#/chats/a");
  expect(takeLoginReturn()).toBeNull();
  expect([window.location.search, window.history.state]).toEqual(["?code=c", { chat: "a" }]);
});

test("only a web page is opened", () => {
  expect(loginPage("https://id.example/authorize?a=b")?.host).toBe("id.example");
  expect(loginPage("http://127.0.0.1:1/a")?.host).toBe("127.0.0.1:1");
  for (const url of ["", "/authorize", "javascript:alert(1)", "data:text/html,x", "file:///etc/passwd"]) expect(loginPage(url), url).toBeNull();
});
