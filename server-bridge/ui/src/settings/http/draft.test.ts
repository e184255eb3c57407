import { expect, test } from "vitest";
import { documentOf, EMPTY_DRAFT, pairs, parameterNames } from "./draft";

test("a form becomes a document", () => {
  const read = documentOf({
    ...EMPTY_DRAFT,
    name: " weather ",
    description: "The weather",
    method: "POST",
    url: "https://api.example.com/{{city}}",
    headers: "Authorization: Bearer {{secret.KEY}}\n\nX-A: b: c",
    query: "units=metric",
    body: '{"days": {{days}}}',
    parameters: "city* string The name of the city\ndays integer",
    extract: "data.0",
    via: " laptop ",
  });
  if ("problems" in read) throw new Error("it has problems");
  expect(read.name).toBe("weather");
  expect(JSON.parse(read.text)).toEqual({
    name: "weather",
    description: "The weather",
    method: "POST",
    url: "https://api.example.com/{{city}}",
    headers: { Authorization: "Bearer {{secret.KEY}}", "X-A": "b: c" },
    queryParams: { units: "metric" },
    bodyTemplate: '{"days": {{days}}}',
    parameters: [
      { name: "city", type: "string", description: "The name of the city", required: true },
      { name: "days", type: "integer", required: false },
    ],
    via: "laptop",
    responseExtract: "data.0",
  });
});

test("wrong lines are reported", () => {
  const problems = (change: object) => {
    const read = documentOf({ ...EMPTY_DRAFT, ...change });
    return "problems" in read ? read.problems : null;
  };
  expect(problems({ headers: "X: a\nnothing" })).toEqual({ headers: { kind: "headerLine", line: 2 } });
  expect(problems({ query: "a=1\na=2" })).toEqual({ query: { kind: "twice", line: 2, name: "a" } });
  expect(problems({ parameters: "city text" })).toEqual({ parameters: { kind: "parameterLine", line: 1 } });
  expect(problems({ kind: "json", json: "{" })).toEqual({ json: { kind: "json" } });
  expect(problems({ kind: "json", json: '{"name": 1}' })).toEqual({ json: { kind: "json" } });
  expect(pairs("__proto__=1", "=")).toEqual({ value: Object.fromEntries([["__proto__", "1"]]) });
});

test("the parameters are read from every form of a document", () => {
  expect(parameterNames('{"parameters": [{"name": "a"}]}')).toEqual(["a"]);
  expect(parameterNames('{"parameters": {"type": "object", "properties": {"a": {}}}}')).toEqual(["a"]);
  expect(parameterNames('{"parameters": {"a": {}, "b": "string"}}')).toEqual(["a", "b"]);
  expect(parameterNames("{}")).toEqual([]);
  expect(parameterNames("no document")).toEqual([]);
});
