//! The templates in English.

use super::Template;

pub(super) const ALL: &[Template] = &[
    Template {
        name: "article",
        title: "Article",
        what: "a text that is written, shortened, and translated once a person agrees",
        text: "\
1. @writer: Write a text about the request. [retries 1]
2. @editor: Shorten it, correct its language, and keep everything that it says. [gate]
3. @translator: Translate it into the other language that the request names. [retries 1]
budget: 200000 tokens
",
    },
    Template {
        name: "change",
        title: "Change to a program",
        what: "a change to a program that is planned, made, reviewed and corrected",
        text: "\
1. @planner: Read the code that the request is about, and write a plan: which files change, and how it is tested. Change nothing. [gate]
2. @coder: Make the change as planned, and run the tests. [limit 1h]
3. @reviewer: Review the change: name each fault with its file and line, and say how to fix it. Change nothing.
4. @coder: Fix what the review names, and run the tests again. [gate] [limit 1h]
budget: 2000000 tokens
",
    },
    Template {
        name: "research",
        title: "Research",
        what: "a question that is researched, checked, and answered with sources",
        text: "\
1. @researcher: Find out what is known about the request, with the source of each statement.
2. @critic: Name what is doubtful, missing or without a source.
3. @researcher: Look up what the critic names, and correct the findings.
4. @writer: Answer the request from the findings, with their sources. [gate]
budget: 500000 tokens, 2h
",
    },
    Template {
        name: "release",
        title: "Release",
        what: "a release that is tested and described before a person agrees",
        text: "\
1. @tester: Run all tests, and report what fails. Change nothing. [retries 1] [limit 1h]
2. @writer: Write the notes of the release from the changes since the last one. [gate]
3. @coder: Prepare the release as the request says, and report each step. [gate] [limit 1h]
",
    },
];
