use super::*;

fn read(json: &str) -> Marketplace {
    Marketplace::read(json.as_bytes()).unwrap()
}

#[test]
fn every_kind_of_source_is_read() {
    let sha = "0123456789abcdef0123456789abcdef01234567";
    let market = read(&format!(
        r#"{{"name": "tools", "owner": {{"name": "O", "email": "o@x.org"}}, "metadata": {{"description": "D", "pluginRoot": "./plugins"}},
        "renames": {{}}, "plugins": [
          {{"name": "a", "source": "./own", "strict": false, "skills": ["./x"]}},
          {{"name": "b", "source": "b"}},
          {{"name": "c", "source": {{"source": "github", "repo": "o/n", "ref": "v1", "sha": "{sha}", "path": "sub"}}}},
          {{"name": "d", "source": {{"source": "url", "url": "https://x.org/n.git"}}}},
          {{"name": "e", "source": {{"source": "git-subdir", "url": "git@x.org:n.git", "path": "./p"}}}},
          {{"name": "f", "source": {{"source": "npm", "package": "@s/p", "version": "^1"}}}},
          {{"name": "g", "source": {{"source": "pip", "package": "p"}}, "version": "2", "tags": ["t"]}},
          {{"name": "h", "source": {{"source": "git-subdir", "url": "o/n", "path": "p"}}}}
        ]}}"#
    ));
    assert!(market.problems.is_empty(), "{:?}", market.problems);
    assert_eq!(
        (market.name.as_str(), market.owner.email.as_str(), market.description.as_str()),
        ("tools", "o@x.org", "D")
    );
    assert_eq!(market.unused[0].what, "renames");
    let path = |path: &str| PluginPath::parse(path).unwrap();
    let source = |name| market.plugin(name).unwrap().source.clone();
    assert_eq!(source("a"), Source::Directory(path("own")));
    assert!(!market.plugin("a").unwrap().is_strict);
    assert_eq!(source("b"), Source::Directory(path("plugins/b")));
    let revision = Revision { branch: "v1".to_owned(), commit: sha.to_owned(), directory: path("sub") };
    assert_eq!(source("c"), Source::GitHub { repository: "o/n".to_owned(), revision });
    assert_eq!(
        source("d"),
        Source::Git { url: "https://x.org/n.git".to_owned(), revision: Revision::default() }
    );
    let revision = Revision { directory: path("p"), ..Revision::default() };
    assert_eq!(source("e"), Source::Git { url: "git@x.org:n.git".to_owned(), revision: revision.clone() });
    let npm = |package: &str, version: &str| (package.to_owned(), version.to_owned(), String::new());
    let (package, version, registry) = npm("@s/p", "^1");
    assert_eq!(source("f"), Source::Npm { package, version, registry });
    let (package, version, registry) = npm("p", "");
    assert_eq!(source("g"), Source::Pip { package, version, registry });
    assert_eq!(source("h"), Source::GitHub { repository: "o/n".to_owned(), revision });
}

#[test]
fn a_broken_entry_is_named_and_leaves_the_others() {
    let bad = [
        r#"{"name": "x", "source": "../../etc"}"#,
        r#"{"name": "x", "source": "/etc"}"#,
        r#"{"name": "x"}"#,
        r#"{"name": "x", "source": 7}"#,
        r#"{"name": "../x", "source": "./x"}"#,
        r#"{"name": "a\u202eb", "source": "./x"}"#,
        r#"{"name": "x", "source": {"source": "ftp", "url": "x"}}"#,
        r#"{"name": "x", "source": {"source": "github", "repo": "../../x"}}"#,
        r#"{"name": "x", "source": {"source": "url", "url": "--upload-pack=touch /tmp/x"}}"#,
        r#"{"name": "x", "source": {"source": "url", "url": "file:///etc"}}"#,
        r#"{"name": "x", "source": {"source": "url", "url": "ext::sh -c x"}}"#,
        r#"{"name": "x", "source": {"source": "url", "url": "https://x.org/n", "ref": "-x"}}"#,
        r#"{"name": "x", "source": {"source": "url", "url": "https://x.org/n", "sha": "HEAD"}}"#,
        r#"{"name": "x", "source": {"source": "url", "url": "https://x.org/n", "path": "../x"}}"#,
        r#"{"name": "x", "source": {"source": "npm", "package": "a/b/c"}}"#,
        r#"{"name": "x", "source": {"source": "npm", "package": "a", "registry": "http://x"}}"#,
        r#""x""#,
        r#"{"name": "Good", "source": "./two-of-one-name"}"#,
    ];
    let market = read(&format!(
        r#"{{"name": "m", "plugins": [{{"name": "good", "source": "./g"}}, {}]}}"#,
        bad.join(",")
    ));
    assert_eq!(market.plugins.len(), 1, "{:#?}", market.plugins);
    assert_eq!(market.problems.len(), bad.len(), "{:#?}", market.problems);
    assert!(market.problems.iter().all(|problem| problem.is_refused));
    assert!(market.problems[6].text.contains("`ftp`"), "{:?}", market.problems[6]);
}

#[test]
fn what_is_no_marketplace_is_refused() {
    let many = format!(r#"{{"name": "m", "plugins": [{}1]}}"#, "1,".repeat(MARKETPLACE_PLUGINS));
    let huge = format!(r#"{{"name": "{}"}}"#, "x".repeat(10 * 1024 * 1024));
    let deep = format!(r#"{{"name": {}"#, "[".repeat(100_000));
    for json in [
        "",
        "[]",
        r#"{"name": "m"}"#,
        r#"{"plugins": []}"#,
        r#"{"name": "m", "plugins": {}}"#,
        &many,
        &huge,
        &deep,
    ] {
        assert!(Marketplace::read(json.as_bytes()).is_err());
    }
    assert!(Marketplace::read(b"{\"name\": \"\xff\", \"plugins\": []}").is_err());
}
