use serde_json::json;

use super::*;

fn provider(name: &str) -> Arc<dyn Provider> {
    Searcher::PROVIDERS.iter().find(|(known, _)| *known == name).unwrap().1()
}

fn hit(title: &str, url: &str, content: &str) -> Hit {
    Hit { title: title.to_owned(), url: url.to_owned(), content: content.to_owned() }
}

#[test]
fn each_providers_recorded_answer_is_read() {
    let tavily = json!({"query": "q", "follow_up_questions": null, "answer": null, "images": [], "results": [
        {"title": "A", "url": "https://a.example/", "content": "about a", "score": 0.98, "raw_content": null}],
        "response_time": 1.09, "request_id": "r"});
    let brave = json!({"type": "search", "query": {"original": "q"}, "mixed": {"type": "mixed"}, "web": {"type": "search",
        "results": [{"title": "A", "url": "https://a.example/", "is_source_local": false, "description": "about a",
        "language": "en", "profile": {"name": "a"}}], "family_friendly": true}});
    let searxng = json!({"query": "q", "number_of_results": 0, "results": [{"url": "https://a.example/", "title": "A",
        "content": "about a", "engine": "duckduckgo", "parsed_url": ["https", "a.example", "/", "", "", ""],
        "engines": ["duckduckgo"], "positions": [1], "score": 1.0, "category": "general"}], "answers": [],
        "suggestions": [], "unresponsive_engines": []});
    for (name, answer) in [("tavily", tavily), ("brave", brave), ("searxng", searxng)] {
        assert_eq!(
            provider(name).read(answer).unwrap(),
            [hit("A", "https://a.example/", "about a")],
            "{name}"
        );
    }
    assert!(provider("brave").read(json!({"type": "search"})).unwrap().is_empty(), "nothing was found");
    for (name, nonsense) in [("tavily", json!([])), ("searxng", json!({})), ("brave", json!({"web": 1}))] {
        assert!(provider(name).read(nonsense).is_err(), "{name}");
    }
}

#[test]
fn a_hit_is_one_line_and_not_long() {
    let mut found = hit("a\n<strong>b</strong>", "u", &"x".repeat(10_000));
    found.tidy();
    assert_eq!((found.title.as_str(), found.content.len()), ("a b", SEARCH_SNIPPET_CHARS));
}
