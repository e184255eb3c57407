//! Cycles between the top-level modules of a crate: modules that cannot be understood without each other.
//!
//! Only paths (`crate::…`, `super::…`) in code outside of tests are considered. A re-export at a crate's root counts as the
//! module that it comes from.

use std::collections::{BTreeMap, BTreeSet};

use super::{ARROWS, root, tracked_files};

type Graph = BTreeMap<String, BTreeSet<String>>;

/// One file of a crate.
struct Source {
    /// The module path from the crate's root; empty for the root itself.
    module: Vec<String>,
    code: String,
}

/// The sources of a crate, without its tests.
fn sources(folder: &str) -> Vec<Source> {
    let prefix = format!("{folder}/src/");
    let files = tracked_files().into_iter().filter(|file| file.starts_with(&prefix) && file.ends_with(".rs"));
    let production = files.filter(|file| !file.ends_with("tests.rs") && !file.contains("/tests/"));
    let read = production.filter_map(|file| {
        let mut module: Vec<String> =
            file[prefix.len()..].trim_end_matches(".rs").split('/').map(str::to_owned).collect();
        if module[0] == "bin" {
            return None;
        }
        if module.last().is_some_and(|last| ["mod", "lib", "main"].contains(&last.as_str())) {
            module.pop();
        }
        let text = std::fs::read_to_string(root().join(&file)).unwrap();
        let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        let code: Vec<_> = code.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
        Some(Source { module, code: code.join("\n") })
    });
    read.collect()
}

/// The first names after `prefix` in `code`: one name, or the names of a list in braces, each with the text after it.
fn names_after<'a>(code: &'a str, prefix: &str) -> Vec<&'a str> {
    let mut found = Vec::new();
    for (at, _) in code.match_indices(prefix) {
        let is_part = code[..at].ends_with(|it: char| it.is_alphanumeric() || it == '_' || it == ':');
        if is_part {
            continue;
        }
        let rest = &code[at + prefix.len()..];
        match rest.strip_prefix('{') {
            Some(list) => found.extend(members(list)),
            None => found.push(rest),
        }
    }
    found
}

/// The members of a list whose opening brace was already read, without nested lists.
fn members(list: &str) -> Vec<&str> {
    let (mut depth, mut begin, mut found) = (0, 0, Vec::new());
    for (at, letter) in list.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' if depth > 0 => depth -= 1,
            ',' | '}' if depth == 0 => {
                found.push(list[begin..at].trim());
                begin = at + 1;
                if letter == '}' {
                    break;
                }
            }
            _ => {}
        }
    }
    found
}

fn first_name(path: &str) -> &str {
    path.split(|it: char| !(it.is_alphanumeric() || it == '_')).next().unwrap_or_default()
}

/// The re-exports of a crate's root, each with the module from which it comes.
fn handed_on(sources: &[Source], modules: &BTreeSet<String>) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for source in sources.iter().filter(|source| source.module.is_empty()) {
        for statement in source.code.split(';') {
            let Some((_, path)) = statement.split_once("use ") else { continue };
            let path = path.trim().trim_start_matches("crate::").trim_start_matches("self::");
            let module = first_name(path);
            let Some(rest) = path.strip_prefix(module).and_then(|rest| rest.strip_prefix("::")) else {
                continue;
            };
            if modules.contains(module) {
                let words = rest.split(|it: char| !(it.is_alphanumeric() || it == '_'));
                let words = words.filter(|word| !word.is_empty());
                found.extend(words.map(|word| (word.to_owned(), module.to_owned())));
            }
        }
    }
    found
}

/// The top-level modules to which each one refers.
fn graph(sources: &[Source]) -> Graph {
    let modules: BTreeSet<String> =
        sources.iter().filter_map(|source| source.module.first().cloned()).collect();
    let handed_on = handed_on(sources, &modules);
    let mut graph = Graph::new();
    for source in sources {
        let Some(own) = source.module.first() else { continue };
        // At the depth of the module, this number of `super` leads to the root.
        let to_root = "super::".repeat(source.module.len());
        let named =
            names_after(&source.code, "crate::").into_iter().chain(names_after(&source.code, &to_root));
        for name in named.map(first_name) {
            let target = modules.get(name).or_else(|| handed_on.get(name));
            if let Some(target) = target.filter(|target| *target != own) {
                graph.entry(own.clone()).or_default().insert(target.clone());
            }
        }
    }
    graph
}

/// The modules reachable from a module, in one step or more.
fn reached(graph: &Graph, from: &str) -> BTreeSet<String> {
    let (mut found, mut to_do) = (BTreeSet::new(), vec![from.to_owned()]);
    while let Some(module) = to_do.pop() {
        for next in graph.get(&module).into_iter().flatten() {
            if found.insert(next.clone()) {
                to_do.push(next.clone());
            }
        }
    }
    found
}

/// The modules of the largest cycle; empty if there is none.
fn largest_circle(graph: &Graph) -> BTreeSet<String> {
    let reached: BTreeMap<_, _> = graph.keys().map(|module| (module, reached(graph, module))).collect();
    let circles = reached.iter().map(|(module, from_it)| {
        let joined =
            from_it.iter().filter(|other| reached.get(other).is_some_and(|back| back.contains(*module)));
        joined.cloned().collect::<BTreeSet<_>>()
    });
    circles.max_by_key(BTreeSet::len).unwrap_or_default()
}

fn folder_of(name: &str) -> String {
    let folders = ["", "proto/", "server-bridge/crates/", "tests/"].map(|folder| format!("{folder}{name}"));
    folders.into_iter().find(|folder| root().join(folder).join("src").exists()).unwrap()
}

#[test]
fn modules_of_a_crate_form_no_cycle() {
    let mut wrong = Vec::new();
    for (name, _) in ARROWS {
        let graph = graph(&sources(&folder_of(name)));
        let circle = largest_circle(&graph);
        if !circle.is_empty() {
            let within =
                |targets: &BTreeSet<String>| targets.intersection(&circle).cloned().collect::<Vec<_>>();
            let edges = graph.iter().filter(|(module, _)| circle.contains(*module));
            let edges: Vec<_> =
                edges.map(|(module, targets)| format!("{module} → {:?}", within(targets))).collect();
            wrong.push(format!("{name}: {} modules in a circle:\n  {}", circle.len(), edges.join("\n  ")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_cycle_is_found_however_its_paths_are_written() {
    let source = |module: &str, code: &str| Source {
        module: module.split('/').filter(|part| !part.is_empty()).map(str::to_owned).collect(),
        code: code.to_owned(),
    };
    let sources = [
        source("", "mod a; mod b; mod c; mod d; mod e;\npub use e::{Deep, other::Thing};"),
        source("a", "use crate::{\n    b::{x, c},\n    nothing,\n};"),
        source("b/inner", "fn f() { super::super::c::g() }"),
        source("c", "use super::{d::D, Thing};"),
        source("d", "fn f(it: &crate::Deep) {}"),
        source("e", "use crate::a::x; fn not_supercrate::b() {}"),
    ];
    let graph = graph(&sources);
    let to = |module: &str| graph[module].iter().map(String::as_str).collect::<Vec<_>>();
    assert_eq!((to("a"), to("b"), to("c"), to("d")), (vec!["b"], vec!["c"], vec!["d", "e"], vec!["e"]));
    assert_eq!(largest_circle(&graph).len(), 5);
    let open = Graph::from([("a".to_owned(), BTreeSet::from(["b".to_owned()]))]);
    assert!(largest_circle(&open).is_empty());
}
