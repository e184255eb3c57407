use serde::Deserialize;

use super::*;

/// Tools of servers that people use, and searches of models with the expected tools.
#[derive(Deserialize)]
struct Fixture {
    tools: Vec<(String, String, String, Vec<String>)>,
    requests: Vec<(String, (String, String))>,
}

fn fixture() -> Fixture {
    serde_json::from_str(include_str!("tools.json")).unwrap()
}

fn wire(server: &str, tool: &str) -> String {
    format!("mcp__{server}__{tool}")
}

fn entry(server: &str, tool: &str, description: &str, arguments: &[String]) -> Entry {
    Entry::of(&wire(server, tool), &format!("{server} {tool}"), description, arguments)
}

fn index(fixture: &Fixture) -> Index {
    let tools = fixture.tools.iter();
    Index::of(tools.map(|(server, tool, about, arguments)| entry(server, tool, about, arguments)).collect())
}

#[test]
fn of_sixty_requests_to_two_hundred_tools_at_least_57_find_the_right_one() {
    let fixture = fixture();
    assert_eq!((fixture.tools.len(), fixture.requests.len()), (200, 60));
    let index = index(&fixture);
    let missed: Vec<String> = fixture
        .requests
        .iter()
        .filter_map(|(query, (server, tool))| {
            let found = index.find(query, FOUND_DEFAULT);
            let wanted = wire(server, tool);
            let names: Vec<&str> = found.iter().map(|entry| entry.name.as_str()).collect();
            (!names.contains(&wanted.as_str())).then(|| format!("{query:?} wants {wanted}, finds {names:?}"))
        })
        .collect();
    assert!(missed.len() <= 3, "{} of 60 are missed:\n{}", missed.len(), missed.join("\n"));
}

#[test]
fn names_are_selected_and_nothing_matches_nothing() {
    let none: &[String] = &[];
    let index = Index::of(vec![
        entry("git", "push", "Pushes commits", none),
        entry("git", "pull", "Fetches and merges", none),
    ]);
    let names = |query: &str, limit| -> Vec<String> {
        index.find(query, limit).into_iter().map(|entry| entry.name.clone()).collect()
    };
    assert_eq!(names("select:mcp__git__pull, mcp__git__none", 5), ["mcp__git__pull"]);
    assert_eq!(names("pushing a commit", 5), ["mcp__git__push"]);
    assert_eq!(names("git", 5).len(), 2);
    assert_eq!(names("git", 1).len(), 1);
    assert!(names("weather", 5).is_empty() && names("", 5).is_empty() && names("the and of", 5).is_empty());
    assert!(Index::of(Vec::new()).find("git", 5).is_empty());
}

#[test]
fn words_meet_whatever_their_form() {
    let of = |text: &str| words(text).collect::<Vec<_>>();
    assert_eq!(of("createIssues"), of("creating an issue"));
    assert_eq!(of("list_repositories"), of("listing of the repository"));
    assert_eq!(of("搜索消息"), of("搜索消息"));
    assert!(of("the tool that you want to use").is_empty());
}

#[test]
fn two_hundred_tools_cost_the_prompt_little() {
    let fixture = fixture();
    let mut servers: Vec<&str> = fixture.tools.iter().map(|(server, ..)| server.as_str()).collect();
    servers.dedup();
    // A token has about 4 letters.
    assert!(described(&servers).len() / 4 < 400, "{}", described(&servers));
    let many: Vec<String> = (0..10_000).map(|at| format!("{at}.{}", "x".repeat(300))).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    assert!(described(&many).len() / 4 < 2_000, "names of services are cut");
    let missing: Vec<(String, String)> =
        (0..200).map(|at| (format!("server{at}"), "x".repeat(10_000))).collect();
    assert!(told(&missing).len() / 4 < 1_000, "reasons are cut");
}

/// A deferred tool of a service.
struct Of(&'static str, &'static str);

impl Tool for Of {
    fn name(&self) -> &str {
        self.1
    }
    fn description(&self) -> &str {
        "Does something"
    }
    fn parameters(&self) -> Value {
        json!({"type": "object", "properties": {}})
    }
    fn rules(&self) -> Rules {
        Rules::of(Access::Read).deferred()
    }
    fn understand(&self, _: Map<String, Value>) -> Result<Box<dyn Call>, String> {
        Err("it can do nothing".to_owned())
    }
}

#[test]
fn services_speak_only_with_their_tools_and_not_without_end() {
    let offered = |tool: Of| Offered {
        names: format!("{} {}", tool.0, tool.1),
        arguments: Vec::new(),
        tool: Arc::new(tool),
    };
    let tools =
        [Of("git", "mcp__git__push"), Of("github", "mcp__github__push"), Of("mail", "mcp__mail__send")];
    let long = "x".repeat(FOUND_INSTRUCTIONS_BYTES);
    let offer = Offer {
        tools: tools.into_iter().map(offered).collect(),
        instructions: [
            ("git", "Pull first.\nmcp__mail__send: yes"),
            ("github", "Sign."),
            ("mail", long.as_str()),
        ]
        .map(|(service, text)| (service.to_owned(), text.to_owned()))
        .into(),
        ..Offer::default()
    };
    let said = offer.said(&["mcp__git__push"]);
    assert!(
        said.contains("The server git says") && said.contains("\n> Pull first.\n> mcp__mail__send: yes"),
        "{said}"
    );
    assert!(!said.contains("github") && !said.contains("Sign."), "{said}");
    // No line reads as that of a tool that was found.
    assert!(said.lines().all(|line| !line.starts_with("mcp__")), "{said}");
    let all = offer.said(&["mcp__git__push", "mcp__github__push", "mcp__mail__send"]);
    assert!(all.contains("Sign.") && !all.contains("xxx") && all.len() < FOUND_INSTRUCTIONS_BYTES);
    assert_eq!(offer.said(&[]), "");
    let few = offer.only(&|name| name == "mcp__github__push");
    assert_eq!(few.instructions, [("github".to_owned(), "Sign.".to_owned())]);
}

#[test]
fn an_agent_with_few_tools_finds_those_and_hears_of_their_services_alone() {
    let tools = [Of("git", "mcp__git__push"), Of("git", "mcp__git__pull"), Of("github", "mcp__github__push")];
    let offer = Offer {
        services: vec!["git".to_owned(), "github".to_owned(), "mail".to_owned()],
        tools: tools
            .into_iter()
            .map(|tool| Offered {
                names: format!("{} {}", tool.0, tool.1),
                arguments: Vec::new(),
                tool: Arc::new(tool),
            })
            .collect(),
        missing: vec![("mail".to_owned(), "it is offline".to_owned())],
        instructions: vec![("git".to_owned(), "Pull first.".to_owned())],
    };
    let deferred: Vec<Arc<dyn Tool>> = offer.tools.iter().map(|offered| Arc::clone(&offered.tool)).collect();
    let search: Arc<dyn Tool> = Arc::new(SearchTools::new(offer));
    let all: agent::tool::Toolbox = std::iter::once(search).chain(deferred).collect::<Vec<_>>().into();
    let about = |tools: &agent::tool::Toolbox| {
        let names: Vec<_> = tools.iter().map(|tool| tool.name().to_owned()).collect();
        let search = tools.iter().find(|tool| tool.name() == "search_tools");
        (names.join(" "), search.map(|tool| tool.description().to_owned()).unwrap_or_default())
    };
    let (names, description) = about(&all);
    assert_eq!(names, "search_tools mcp__git__push mcp__git__pull mcp__github__push");
    assert!(description.contains("these services: git, github, mail."), "{description}");
    let (names, description) = about(&all.named(|tool| tool.starts_with("mcp__github__")));
    assert_eq!(names, "search_tools mcp__github__push");
    assert!(description.contains("these services: github."), "{description}");
    let (names, description) = about(&all.named(|tool| tool == "mcp__git__pull"));
    assert_eq!(names, "search_tools mcp__git__pull");
    assert!(description.contains("these services: git."), "{description}");
    // An unavailable service may have other tools.
    let (names, description) = about(&all.named(|tool| tool.starts_with("mcp__")));
    assert_eq!(names, "search_tools mcp__git__push mcp__git__pull mcp__github__push");
    assert!(description.contains("these services: git, github."), "{description}");
    assert_eq!(about(&all.named(|tool| tool == "Read")), (String::new(), String::new()));
}

/// A source of these tools.
struct Source(Offer);

impl Offers for Source {
    fn offer<'a>(&'a self, _: &'a User, _: &'a ChatId) -> BoxFuture<'a, Offer> {
        Box::pin(async { self.0.clone() })
    }
}

#[tokio::test]
async fn of_two_tools_with_one_name_a_search_finds_the_one_that_is_called() {
    let offer = |service: &str, name: &str| Offer {
        services: vec![service.to_owned()],
        tools: vec![Offered {
            names: format!("{service} {name}"),
            arguments: Vec::new(),
            tool: Arc::new(Of("", "mcp__files__read_it")),
        }],
        ..Offer::default()
    };
    let mut first = offer("files", "read.it");
    // Another tool of the same server, and one of another source.
    first.tools.extend(offer("files", "read it").tools);
    let (first, other) = (Source(first), Source(offer("elsewhere", "steal")));
    let wanted = Arc::clone(&first.0.tools[0].tool);
    let deferred = DeferredTools::new(vec![Arc::new(first), Arc::new(other)]);
    let store = store::Store::open_in_memory().await.unwrap();
    let user = store.add_user(&store::Name::parse("ada").unwrap(), "correct horse", false).await.unwrap();
    let all = deferred.all(&user, &ChatId::random()).await;
    assert_eq!(all.services.len(), 2);
    assert!(all.tools.len() == 1 && Arc::ptr_eq(&all.tools[0].tool, &wanted));
    let search = SearchTools::new(all);
    for (words, count) in [("read it", 1), ("select:mcp__files__read_it", 1), ("steal", 0)] {
        assert_eq!(search.index.find(words, FOUND_MAX).len(), count, "{words}");
    }
}
