//! The questions of a group's gates on a messenger: who may answer them, and where the answer is shown.

use store::{Access, Name, NewGate, NewRunOfChain, RunEnd};

use super::bound::bound;
use super::messenger::{Fault, Messenger, Shown};
use super::strangers::attempts;
use super::{World, until};

impl World {
    /// Begins a run that asks this question; returns the run and its gate.
    async fn asks(&self, group: i64, question: &str) -> (i64, i64) {
        let run = NewRunOfChain {
            group,
            chain: "story",
            document_json: "{}",
            request: "rain",
            user: self.root.id,
            user_name: "root",
            send_id: None,
            gate: Some(NewGate { step: 0, attempt: 1, kind: "review", question }),
        };
        let run = self.store.begin_run(run).await.unwrap();
        let gate = self.store.gates(run).await.unwrap()[0].id;
        self.channels.look();
        (run, gate)
    }

    /// Returns the answer to a gate, and the answer's author.
    async fn answer(&self, group: i64, gate: i64) -> (Option<String>, Option<String>) {
        let gate = self.store.gate(group, gate).await.unwrap();
        (gate.reply, gate.answered_by)
    }

    /// Answers a gate on the page, as bob.
    async fn bob_answers(&self, group: i64, gate: i64, reply: &str) {
        assert!(self.store.answer_gate(group, gate, reply, "", "bob").await.unwrap());
        self.channels.look();
    }

    /// Adds a user who is linked as the person of the same name, and has this access to the group.
    async fn joins(&self, name: &str, group: Option<(i64, Access)>) {
        let user = self.store.add_user(&Name::parse(name).unwrap(), "correct horse", false).await.unwrap();
        self.link(&user, name).await;
        if let Some((group, access)) = group {
            self.store.put_group_person(group, user.id, access).await.unwrap();
        }
    }

    /// Counts how many times a conversation shows this line.
    fn lines(&self, conversation: &str, line: &str) -> usize {
        self.messenger.texts(conversation).iter().filter(|text| **text == line).count()
    }

    /// Waits for a line, and checks that it is shown only once.
    async fn is_told_once(&self, conversation: &str, line: &str) {
        until(line, async || (self.lines(conversation, line) > 0).then_some(())).await;
        self.rests().await;
        assert_eq!(self.lines(conversation, line), 1, "{:?}", self.messenger.texts(conversation));
    }

    /// Returns a message in its current version.
    fn now(&self, shown: &Shown) -> Shown {
        self.messenger.shown(&shown.to).into_iter().find(|one| one.id == shown.id).unwrap()
    }
}

fn token(shown: &Shown, label: &str) -> String {
    shown.buttons.iter().find(|button| button.label == label).unwrap().token.clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_press_counts_once_and_of_those_alone_who_may_answer() {
    let (mut world, group) = bound(Messenger::new()).await;
    world.joins("rita", Some((group, Access::Reader))).await;
    world.joins("eve", None).await;
    let (_, gate) = world.asks(group, "Does it go on?").await;
    let shown = world.reads("room", "Does it go on?").await;
    assert_eq!(shown.text, "The chain story asks:\nDoes it go on?");
    let labels: Vec<_> = shown.buttons.iter().map(|button| button.label.as_str()).collect();
    assert_eq!(labels, ["Approve", "Stop the run"]);
    assert!(shown.buttons.iter().all(|button| button.token.len() <= 64), "{shown:?}");
    // The next server accepts the same buttons.
    world.restart().await;
    world.rests().await;
    let (approve, before) = (token(&shown, "Approve"), world.messenger.texts("room"));
    for (person, why) in [
        ("mallory", "for somebody else"),
        ("eve", "You are not in the group"),
        ("rita", "this needs member access or higher"),
    ] {
        world.messenger.presses(person, &shown, &approve);
        world.rests().await;
        let told = world.messenger.press_answers().pop().unwrap_or_default();
        assert!(told.contains(why) && told.lines().count() == 1, "{person}: {told}");
    }
    for elsewhere in [
        Shown { id: "other".to_owned(), ..shown.clone() },
        Shown { to: "other".to_owned(), ..shown.clone() },
        Shown { to: "ann".to_owned(), ..shown.clone() },
    ] {
        world.messenger.presses("ann", &elsewhere, &approve);
    }
    world.rests().await;
    assert_eq!(world.answer(group, gate).await, (None, None));
    assert_eq!(world.messenger.texts("room"), before, "nothing changed");
    world.messenger.presses("ann", &shown, &approve);
    let line = format!("ada answered question {gate}: approve.");
    world.is_told_once("room", &line).await;
    world.messenger.presses("ann", &shown, &approve);
    world.rests().await;
    assert_eq!(world.messenger.press_answers().last().unwrap(), "Approve", "the same answer again");
    world.messenger.presses("boss", &shown, &token(&shown, "Stop the run"));
    world.rests().await;
    assert!(world.messenger.press_answers().last().unwrap().contains("ada answered it before"));
    assert_eq!(world.answer(group, gate).await, (Some("approve".to_owned()), Some("ada".to_owned())));
    assert_eq!(world.lines("room", &line), 1);
    let shown = world.now(&shown);
    assert!(
        shown.buttons.is_empty() && shown.text.ends_with(&format!("Does it go on?\n\n→ {line}")),
        "{shown:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn presses_of_others_answer_no_gate() {
    /// The number of people who press; a conversation accepts up to 200 waiting messages from each person.
    const PEOPLE: usize = 50;
    let (world, group) = bound(Messenger::new()).await;
    world.joins("rita", Some((group, Access::Reader))).await;
    world.joins("eve", None).await;
    let (_, gate) = world.asks(group, "Does it go on?").await;
    let shown = world.reads("room", "Does it go on?").await;
    world.rests().await;
    let before = world.messenger.texts("room");
    let approve = token(&shown, "Approve");
    for number in 0..attempts() {
        let person = format!("other{}", number % PEOPLE);
        match number % 5 {
            0 => world.messenger.presses(&person, &shown, &approve),
            1 => world.messenger.presses(&person, &Shown { to: person.clone(), ..shown.clone() }, &approve),
            2 => world.messenger.says(&person, "room", &format!("/approve {gate}")),
            3 => world.messenger.presses(["rita", "eve"][number % 2], &shown, &approve),
            _ => world.messenger.presses("ann", &shown, &format!("{number:032x}")),
        }
    }
    world.rests().await;
    assert_eq!(world.answer(group, gate).await, (None, None));
    assert_eq!(world.messenger.texts("room"), before);
    world.messenger.presses("ann", &shown, &approve);
    world.is_told_once("room", &format!("ada answered question {gate}: approve.")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_given_elsewhere_is_told_once_in_each_conversation_before_what_follows_from_it() {
    let (mut world, group) = bound(Messenger::new()).await;
    world.binds("room2").await;
    let (_, gate) = world.asks(group, "Does it go on?").await;
    let mut shown = Vec::new();
    for room in ["room", "room2"] {
        shown.push(world.reads(room, "Does it go on?").await);
    }
    world.rests().await;
    world.messenger.goes_away(true);
    world.bob_answers(group, gate, "stop").await;
    world.posts(group, None, "what follows").await;
    for _ in 0..3 {
        world.restart().await;
        world.channels.look();
    }
    world.messenger.fails([Fault::TakenUnsaid, Fault::LostUnsaid, Fault::TooFast]);
    world.messenger.goes_away(false);
    let line = format!("bob answered question {gate}: stop.");
    for shown in &shown {
        world.reads(&shown.to, "@coder: what follows").await;
        world.is_told_once(&shown.to, &line).await;
        let texts = world.messenger.texts(&shown.to);
        let place = |wanted: &str| texts.iter().position(|text| text == wanted).unwrap();
        assert!(place(&line) < place("@coder: what follows"), "{texts:?}");
        let now = world.now(shown);
        assert!(now.buttons.is_empty() && now.text.ends_with(&format!("→ {line}")), "{now:?}");
        assert_eq!(world.messenger.versions(&shown.id).len(), 2, "it was changed once");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn where_there_are_no_buttons_the_command_answers_and_each_end_is_told_once() {
    let (world, group) = bound(Messenger::without_buttons()).await;
    let (_, elsewhere) = world.asks(group, "The first?").await;
    let (_, here) = world.asks(group, "The second?").await;
    let (run, unanswered) = world.asks(group, "The third?").await;
    let shown = world.reads("room", "The third?").await;
    assert!(shown.buttons.is_empty() && shown.text.ends_with(&format!("\n/stop {unanswered}")), "{shown:?}");
    world.bob_answers(group, elsewhere, "approve").await;
    world.is_told_once("room", &format!("bob answered question {elsewhere}: approve.")).await;
    world.messenger.repeats();
    world.messenger.says("ann", "room", &format!("/approve {here}"));
    world.is_told_once("room", &format!("ada answered question {here}: approve.")).await;
    world.store.end_chain_run(group, run, RunEnd::Stopped, "It was stopped.").await.unwrap();
    world.channels.look();
    let line = format!("Question {unanswered} no longer waits for an answer: its run has ended.");
    world.is_told_once("room", &line).await;
    let now = world.now(&shown);
    assert_eq!(now.text, shown.text, "messages cannot be changed there");
    assert!(!world.messenger.texts("room").iter().any(|text| text.contains("answered it before")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_button_that_stays_after_an_answer_elsewhere_says_who_decided() {
    let (mut world, group) = bound(Messenger::without_edits()).await;
    let (_, answered) = world.asks(group, "Does it go on?").await;
    let (run, unanswered) = world.asks(group, "And now?").await;
    let shown = [world.reads("room", "Does it go on?").await, world.reads("room", "And now?").await];
    world.bob_answers(group, answered, "approve").await;
    world.is_told_once("room", &format!("bob answered question {answered}: approve.")).await;
    world.store.end_chain_run(group, run, RunEnd::Stopped, "It was stopped.").await.unwrap();
    world.channels.look();
    let line = format!("Question {unanswered} no longer waits for an answer: its run has ended.");
    world.is_told_once("room", &line).await;
    // The next server says the same.
    world.restart().await;
    world.rests().await;
    let before = world.messenger.texts("room");
    for (shown, label, why) in [
        (&shown[0], "Stop the run", "bob answered it before"),
        (&shown[0], "Approve", "bob answered it before"),
        (&shown[1], "Approve", "its run has ended"),
    ] {
        assert_eq!(world.now(shown).buttons.len(), 2, "its buttons stay");
        let answers = world.messenger.press_answers().len();
        world.messenger.presses("ann", shown, &token(shown, label));
        world.rests().await;
        let told = world.messenger.press_answers();
        assert_eq!(told.len(), answers + 1);
        assert!(told[answers].contains(why), "{label}: {}", told[answers]);
    }
    world.messenger.presses("mallory", &shown[0], &token(&shown[0], "Approve"));
    world.rests().await;
    assert!(world.messenger.press_answers().last().unwrap().contains("for somebody else"));
    assert_eq!(world.answer(group, answered).await, (Some("approve".to_owned()), Some("bob".to_owned())));
    assert_eq!(world.messenger.texts("room"), before, "the conversation is told nothing more");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_question_has_its_buttons_below_its_last_part_and_a_longer_one_has_none() {
    let (world, group) = bound(Messenger::new()).await;
    let (_, long) = world.asks(group, &format!("{}End one.", "word ".repeat(120))).await;
    let (_, longer) = world.asks(group, &format!("{}End two.", "word ".repeat(1_000))).await;
    let shown = world.reads("room", "End one.").await;
    world.reads("room", "The rest is on the page").await;
    world.rests().await;
    let all = world.messenger.shown("room");
    let with_buttons: Vec<_> = all.iter().filter(|one| !one.buttons.is_empty()).collect();
    assert!(with_buttons.len() == 1 && with_buttons[0].id == shown.id, "{all:?}");
    world.messenger.presses("ann", &shown, &token(&shown, "Approve"));
    let line = format!("ada answered question {long}: approve.");
    world.is_told_once("room", &line).await;
    assert_eq!(world.now(&shown).text, format!("The chain story asks:\n\n→ {line}"));
    world.messenger.says("ann", "room", &format!("/stop {longer}"));
    world.is_told_once("room", &format!("ada answered question {longer}: stop.")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_cannot_be_changed_does_not_keep_the_line_back() {
    let (world, group) = bound(Messenger::new()).await;
    let (_, gate) = world.asks(group, "Does it go on?").await;
    world.reads("room", "Does it go on?").await;
    world.messenger.refuses_edits(true);
    world.bob_answers(group, gate, "approve").await;
    world.is_told_once("room", &format!("bob answered question {gate}: approve.")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_binding_its_buttons_answer_nothing_and_no_answer_is_told() {
    let (world, group) = bound(Messenger::new()).await;
    world.binds("room2").await;
    world.store.create_group(world.root.id, "Other").await.unwrap();
    let (_, gate) = world.asks(group, "Does it go on?").await;
    let shown = world.reads("room", "Does it go on?").await;
    world.reads("room2", "Does it go on?").await;
    for (command, told) in [
        ("/group off", "This group is off"),
        ("/group on", "This group is on"),
        ("/group use Other", "belongs to the group \"Other\""),
    ] {
        world.messenger.says("boss", "room", command);
        world.reads("room", told).await;
        world.rests().await;
        for person in ["ann", "boss", "mallory"] {
            world.messenger.presses(person, &shown, &token(&shown, "Approve"));
        }
        world.rests().await;
        assert_eq!(world.answer(group, gate).await, (None, None), "after {command}");
    }
    world.bob_answers(group, gate, "approve").await;
    world.is_told_once("room2", &format!("bob answered question {gate}: approve.")).await;
    assert!(!world.messenger.texts("room").iter().any(|text| text.contains("bob answered")));
}
