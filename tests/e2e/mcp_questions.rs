//! Questions of MCP servers to their user, in both eras: forms, and pages to open. People see them in the chat and at the terminal;
//! a program reads that nobody was asked.

use std::time::Duration;

use serde_json::{Value, json};
use tests::http::Client;
use tests::terminal::Terminal;
use tests::{Asked, Reply, eventually};

use crate::agent::{lines, messages, new_chat, say};
use crate::mcp_servers::results_since;
use crate::world::World;

const PATIENCE: Duration = Duration::from_secs(60);

/// The answers that Sandbridge adds to those of a server.
const DECLINE: &str = "Decline";
const DONE: &str = "I have done that";
const SKIP: &str = "Skip";
const SUGGESTED: &str = "Use the suggested value";

/// The page that a server wants opened before it is called again.
const PREREQUISITE: &str = "https://modelcontextprotocol.io";

/// A model that makes the call in its user's message, and then ends its answer: `TOOL ARGUMENTS`.
fn obeys(asked: &Asked) -> Reply {
    const TOOLS: [&str; 3] = [
        "mcp__everything__trigger-elicitation-request",
        "mcp__everything__trigger-url-elicitation",
        "mcp__modern__visit",
    ];
    let said = asked.last_of_user();
    let (name, arguments) = said.split_once(' ').unwrap_or((&said, "{}"));
    match TOOLS.iter().find(|tool| tool.ends_with(name)) {
        Some(tool) if results_since(asked) == 0 => {
            Reply::Call(vec![(tool, serde_json::from_str(arguments).unwrap())])
        }
        _ => Reply::Say("that is all".to_owned()),
    }
}

/// A chat of a user whose model calls the servers.
struct Talk<'a> {
    world: &'a World,
    client: Client,
    chat: String,
}

impl<'a> Talk<'a> {
    fn new(world: &'a World) -> Self {
        let client = Client::login(&world.server, "alice");
        let chat = new_chat(&client, "full");
        Self { world, client, chat }
    }

    fn messages(&self) -> Vec<Value> {
        messages(&self.client, &self.chat)
    }

    fn ends(&self) -> usize {
        self.messages().iter().filter(|message| message["text"] == "that is all").count()
    }

    /// Has the model make a call, and answers each question as `answer` does from its text and options; returns the questions
    /// and the result of the call.
    fn call(
        &self,
        call: &str,
        answer: impl Fn(&str, &[String]) -> Option<&'static str>,
    ) -> (Vec<String>, String) {
        let ends = self.ends();
        say(&self.client, &self.chat, call);
        let mut questions = Vec::new();
        loop {
            let open = eventually("it asks or ends", PATIENCE, || {
                if self.ends() > ends {
                    return Some(None);
                }
                let asks = |message: &Value| message["agent"]["status"] == "asking";
                self.messages().into_iter().find(asks).map(Some)
            });
            let Some(card) = open else { return (questions, self.world.last_result()) };
            assert_eq!(card["agent"]["data"]["kind"], "question", "{card}");
            let options =
                serde_json::from_value::<Vec<String>>(card["agent"]["data"]["options"].clone()).unwrap();
            let text = card["agent"]["detail"].as_str().unwrap_or_else(|| panic!("{card}"));
            let said = json!({"message_id": card["id"], "text": answer(text, &options)}).to_string();
            questions.push(text.to_owned());
            let path = format!("/chats/{}/answers", self.chat);
            assert_eq!(self.client.send("POST", &path, said.as_bytes()).status, 204, "{card}");
            eventually("the answer is taken", PATIENCE, || {
                let now = self.messages().into_iter().find(|message| message["id"] == card["id"]).unwrap();
                (now["agent"]["status"] != "asking" || now["agent"]["detail"] != card["agent"]["detail"])
                    .then_some(())
            });
        }
    }
}

fn has(options: &[String], option: &str) -> bool {
    options.iter().any(|known| known == option)
}

/// The server `everything` speaks the protocol of 2025-11-25 alone.
#[test]
fn a_form_of_the_older_era_is_filled_in_declined_or_left_by_its_user() {
    let world = World::new(obeys);
    world.add_everything();
    let talk = Talk::new(&world);
    let form = "trigger-elicitation-request";
    let (questions, result) = talk.call(form, |text, options| match options {
        _ if text.contains("Your full, legal name") => Some("Ada"),
        _ if text.contains("Agree to the terms") => Some("Yes"),
        // A value outside of the bounds is asked for again.
        _ if text.contains("favorite integer") && !text.contains("not valid") => Some("1000"),
        _ if text.contains("favorite integer") => Some("7"),
        _ if text.contains("favorite hero") => Some("Green Lantern"),
        _ if text.contains("instruments") => Some("Piano, Bass"),
        _ if has(options, SUGGESTED) => Some(SUGGESTED),
        _ if has(options, SKIP) => Some(SKIP),
        _ => None,
    });
    assert!(
        questions[0].starts_with("The MCP server everything asks: Please provide inputs"),
        "{questions:?}"
    );
    let order = [
        "Your full, legal name",
        "Agree to the terms",
        "first line of a story",
        "email address",
        "website",
        "date of birth",
    ];
    let kept = questions.iter().zip(order).all(|(question, part)| question.contains(part));
    assert!(kept, "the fields are asked in the server's order: {questions:?}");
    assert!(questions.iter().any(|text| text.contains("at most 100")), "{questions:?}");
    let raw = result.rsplit_once("Raw result: ").unwrap_or_else(|| panic!("{result}")).1;
    let filled: Value = serde_json::from_str(raw).unwrap();
    assert_eq!(filled["action"], "accept");
    let expected = r#"{"name": "Ada", "check": true, "firstLine": "It was a dark and stormy night.", "integer": 7, "number": 3.14,
        "untitledSingleSelectEnum": "Monica", "untitledMultipleSelectEnum": ["Piano", "Bass"], "titledSingleSelectEnum": "hero-2",
        "titledMultipleSelectEnum": ["fish-1"], "legacyTitledEnum": "pet-1"}"#;
    let expected: Value = serde_json::from_str(expected).unwrap();
    assert_eq!(filled["content"], expected);

    let (questions, result) = talk.call(form, |_, options| has(options, DECLINE).then_some(DECLINE));
    assert!(questions.len() == 1 && result.contains("declined to provide"), "{questions:?}: {result}");
    let (questions, result) = talk.call(form, |_, _| None);
    assert!(questions.len() == 1 && result.contains("cancelled the elicitation"), "{questions:?}: {result}");

    // A program learns what was asked, and the server that nobody answered.
    let output = world.run(&["chat", "--new", "--json", "--approval", "full", form]);
    let asked = lines(&output).into_iter().find(|line| line["type"] == "approval").unwrap();
    assert!(asked["detail"].as_str().unwrap().starts_with("The MCP server everything asks"), "{asked}");
    let notices: Vec<Value> = lines(&output).into_iter().filter(|line| line["type"] == "notice").collect();
    let text = notices[0]["text"].as_str().unwrap();
    assert!(
        text.contains("no person to answer") && text.contains("The MCP server everything asks"),
        "{text}"
    );
    assert!(world.last_result().contains("cancelled the elicitation"), "{}", world.last_result());

    // At the terminal, answers are chosen by number.
    let mut terminal =
        Terminal::start(world.alice.command(&["chat", "--new", "--approval", "full", form]), 40, 100);
    let seen = terminal.sees("1) Decline");
    assert!(seen.contains("The MCP server everything asks: Please provide inputs"), "{seen}");
    assert!(seen.contains("Your full, legal name"), "{seen}");
    terminal.sees("empty for none: ");
    terminal.types("Ada\n");
    terminal.sees("Agree to the terms");
    terminal.sees("4) Decline");
    terminal.sees("empty for none: ");
    terminal.types("4\n");
    terminal.sees("that is all");
    assert_eq!(terminal.ends(), 0);
    assert!(world.last_result().contains("declined to provide"), "{}", world.last_result());
}

/// The server `modern` speaks the protocol of 2026-07-28 alone.
#[test]
fn pages_are_opened_by_the_user_in_both_eras_and_other_addresses_are_refused() {
    let world = World::new(obeys);
    world.add_everything();
    world.run(&["mcp-server", "add", "modern", "--", "node", "mcp/modern.mjs"]);
    let talk = Talk::new(&world);
    let older = |url: &str, first: bool| {
        format!(
            "trigger-url-elicitation {}",
            json!({"url": url, "message": "Please log in.", "errorPath": first})
        )
    };
    let newer = |url: &str| format!("visit {}", json!({"url": url}));
    let page = "https://accounts.example/login?code=7";
    for (server, call, [accepted, declined, cancelled]) in [
        ("everything", older(page, false), ["User completed", "User declined", "User cancelled"]),
        ("modern", newer(page), ["the visit: accept", "the visit: decline", "the visit: cancel"]),
    ] {
        for (said, expected) in [(Some(DONE), accepted), (Some(DECLINE), declined), (None, cancelled)] {
            let (questions, result) = talk.call(&call, |_, options| {
                assert_eq!(options, [DONE, DECLINE]);
                said
            });
            assert!(result.contains(expected), "{said:?}: {result}");
            let head = format!(
                "The MCP server {server} asks you to open a page on accounts.example: Please log in."
            );
            assert!(questions.len() == 1 && questions[0].starts_with(&head), "{questions:?}");
            assert!(questions[0].contains(&format!("\n{page}\n")), "{questions:?}");
        }
    }
    for url in [
        "javascript:alert(1)",
        "file:///etc/passwd",
        "data:text/html,x",
        "https://ada:secret@accounts.example/",
    ] {
        for (call, expected) in [(older(url, false), "User declined"), (newer(url), "the visit: decline")] {
            let (questions, result) = talk.call(&call, |_, _| Some(DONE));
            assert!(questions.is_empty() && result.contains(expected), "{url}: {questions:?}: {result}");
        }
    }

    // A server of the older era may refuse a call until a page was opened: it is called again after that.
    let (questions, result) = talk.call(&older(page, true), |_, _| Some(DONE));
    assert!(
        questions[0].contains(&format!("\n{PREREQUISITE}/\n")) && questions[1].contains(page),
        "{questions:?}"
    );
    assert!(questions.len() == 2 && result.contains("User completed"), "{questions:?}: {result}");
    for said in [Some(DECLINE), None] {
        let other = format!("{page}&{}", said.unwrap_or("nothing"));
        let (questions, result) = talk.call(&older(&other, true), |_, _| said);
        assert!(questions.len() == 1 && questions[0].contains(PREREQUISITE), "{questions:?}");
        assert!(
            result.contains("browser-based authorization") && result.contains("did not open the page"),
            "{result}"
        );
    }

    let output = world.run(&["chat", "--new", "--json", "--approval", "full", &newer(page)]);
    assert!(output.stdout.contains("asks you to open a page on accounts.example"), "{output:?}");
    assert!(world.last_result().contains("the visit: cancel"), "{}", world.last_result());
    let call = newer(page);
    let mut terminal =
        Terminal::start(world.alice.command(&["chat", "--new", "--approval", "full", &call]), 40, 100);
    let seen = terminal.sees("1) I have done that");
    assert!(seen.contains("open a page on accounts.example") && seen.contains(page), "{seen}");
    terminal.sees("empty for none: ");
    terminal.types("1\n");
    terminal.sees("that is all");
    assert_eq!(terminal.ends(), 0);
    assert!(world.last_result().contains("the visit: accept"), "{}", world.last_result());
}
