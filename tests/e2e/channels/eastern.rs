//! Feishu, OneBot 11, QQ, DingTalk and WeCom.

use std::time::Duration;

use serde_json::{Value, json};
use tests::eventually;
use tests::platforms::dingtalk::{self, DingTalk};
use tests::platforms::feishu::{self, Feishu};
use tests::platforms::lines::Fault;
use tests::platforms::onebot::{self, OneBot};
use tests::platforms::qq::{self, Qq};
use tests::platforms::wecom::{self, WeCom};

use super::PATIENCE;
use super::messenger::{Messenger, Said, text, texts};

/// The time between QQ's heartbeats.
const HEARTBEAT: Duration = Duration::from_secs(10);

fn user(person: usize) -> String {
    format!("ann{person}")
}

/// Waits until a ping is answered; false if the connection ended before.
fn answered(is_answered: impl Fn() -> bool, is_connected: impl Fn() -> bool) -> bool {
    eventually("a ping is answered", PATIENCE, || match (is_answered(), is_connected()) {
        (true, _) => Some(true),
        (false, false) => Some(false),
        (false, true) => None,
    })
}

impl Messenger for Feishu {
    fn kind(&self) -> &'static str {
        "feishu"
    }

    fn setup(&self) -> Value {
        Feishu::setup(self)
    }

    fn say(&self, person: usize, text: &str) {
        Feishu::say(self, &user(person), &format!("oc_{person}"), false, text);
    }

    fn said_after(&self, count: usize) -> Vec<Said> {
        let said = |(at, card): (usize, feishu::Card)| {
            let elements = &card.content["body"]["elements"];
            let title = text(&card.content["header"]["title"]["content"]);
            let shown = std::iter::once(title).chain(texts(elements, "/content"));
            let shown: Vec<String> = shown.filter(|text| !text.is_empty()).collect();
            Said { at, text: shown.join("\n"), labels: texts(elements, "/text/content") }
        };
        (count..).zip(self.cards_after(count)).map(said).collect()
    }

    fn has_buttons(&self) -> bool {
        true
    }

    fn press(&self, person: usize, said: &Said, label: &str) {
        Feishu::press(self, &user(person), &self.cards()[said.at], label);
    }

    fn files(&self) -> Vec<(Option<String>, Vec<u8>)> {
        let cards = self.cards().into_iter().filter(|card| card.kind == "file");
        let file = |card: feishu::Card| self.file(card.content["file_key"].as_str()?);
        cards.filter_map(file).map(|(name, bytes)| (Some(name), bytes)).collect()
    }

    fn refused(&self) -> Vec<String> {
        self.refusals().into_iter().map(|(code, why)| format!("{code} {why}")).collect()
    }

    fn cut(&self) {
        Feishu::cut(self);
    }

    fn redeliver(&self) {
        Feishu::redeliver(self, false);
    }

    fn repeat(&self, last: usize) {
        Feishu::repeat(self, last);
    }

    fn is_connected(&self) -> bool {
        self.connections().0 > 0
    }

    fn fail(&self) {
        self.fail_next(Fault::TakeAndCut);
        self.fail_next(Fault::TooFast(Some(1)));
    }

    fn hang(&self) {
        self.fail_next(Fault::TakeAndHang);
    }

    fn has_keys(&self) -> bool {
        true
    }

    fn forget_keys(&self) {
        Feishu::forget_keys(self);
    }
}

impl Messenger for OneBot {
    fn kind(&self) -> &'static str {
        "onebot"
    }

    fn setup(&self) -> Value {
        OneBot::setup(self)
    }

    fn say(&self, person: usize, text: &str) {
        OneBot::say(self, 4001 + i64::try_from(person).unwrap(), None, text);
    }

    fn said_after(&self, count: usize) -> Vec<Said> {
        let said = |(at, said): (usize, onebot::Said)| Said { at, text: said.text, labels: Vec::new() };
        (count..).zip(OneBot::said_after(self, count)).map(said).collect()
    }

    fn has_buttons(&self) -> bool {
        false
    }

    fn press(&self, _: usize, _: &Said, _: &str) {
        panic!("OneBot has no buttons");
    }

    fn files(&self) -> Vec<(Option<String>, Vec<u8>)> {
        let files = OneBot::said(self).into_iter().filter(|said| said.action == "upload_private_file");
        files.map(|said| (Some(text(&said.params["name"])), said.text.into_bytes())).collect()
    }

    fn refused(&self) -> Vec<String> {
        self.refusals()
    }

    fn cut(&self) {
        OneBot::cut(self);
    }

    fn repeat(&self, last: usize) {
        OneBot::repeat(self, last);
    }

    fn fail(&self) {
        self.fail_next(Fault::TakeAndCut);
    }

    fn hang(&self) {
        // Its only connection would be silent for 80 s.
        self.fail_next(Fault::TakeAndCut);
    }

    fn has_keys(&self) -> bool {
        false
    }

    fn replays(&self) -> bool {
        false
    }

    fn is_connected(&self) -> bool {
        self.connections() > 0
    }

    fn is_stored(&self) -> bool {
        let ping = self.ping();
        answered(|| self.is_answered(ping), || self.is_connected())
    }
}

/// QQ's stand-in, and whether the bot may send Markdown and buttons.
pub(super) struct Qqs {
    stand_in: Qq,
    has_markdown: bool,
}

impl Qqs {
    pub(super) fn start(has_markdown: bool) -> Self {
        let stand_in = Qq::start();
        // A busy machine answers a frequent heartbeat too late.
        stand_in.set_heartbeat(HEARTBEAT);
        Self { stand_in, has_markdown }
    }
}

impl Messenger for Qqs {
    fn kind(&self) -> &'static str {
        "qq"
    }

    fn setup(&self) -> Value {
        let mut setup = self.stand_in.setup();
        setup["markdown"] = json!(if self.has_markdown { "yes" } else { "no" });
        setup
    }

    fn say(&self, person: usize, text: &str) {
        self.stand_in.say(&user(person), None, text);
    }

    fn said_after(&self, count: usize) -> Vec<Said> {
        let said = |(at, said): (usize, qq::Said)| {
            let content = said.body["markdown"]["content"].as_str().or(said.body["content"].as_str());
            let rows = said.body["keyboard"]["content"]["rows"].as_array().cloned().unwrap_or_default();
            let labels = rows.iter().flat_map(|row| texts(&row["buttons"], "/render_data/label")).collect();
            Said { at, text: content.unwrap_or_default().to_owned(), labels }
        };
        (count..).zip(self.stand_in.said_after(count)).map(said).collect()
    }

    fn has_buttons(&self) -> bool {
        self.has_markdown
    }

    fn press(&self, person: usize, said: &Said, label: &str) {
        self.stand_in.press(&user(person), None, &self.stand_in.said()[said.at], label);
    }

    fn files(&self) -> Vec<(Option<String>, Vec<u8>)> {
        let said = self.stand_in.said().into_iter();
        let infos = said.filter_map(|said| said.body["media"]["file_info"].as_str().map(str::to_owned));
        infos.filter_map(|info| Some((None, self.stand_in.upload(&info)?))).collect()
    }

    fn refused(&self) -> Vec<String> {
        self.stand_in.refusals()
    }

    fn cut(&self) {
        self.stand_in.close(None);
    }

    fn repeat(&self, last: usize) {
        self.stand_in.repeat(last);
    }

    fn fail(&self) {
        self.stand_in.fail_next(Fault::TakeAndCut);
        self.stand_in.fail_next(Fault::TooFast(Some(1)));
    }

    fn hang(&self) {
        self.stand_in.fail_next(Fault::TakeAndHang);
    }

    fn has_keys(&self) -> bool {
        true
    }
}

impl Messenger for DingTalk {
    fn kind(&self) -> &'static str {
        "dingtalk"
    }

    fn setup(&self) -> Value {
        DingTalk::setup(self)
    }

    fn say(&self, person: usize, text: &str) {
        DingTalk::say(self, &user(person), None, text);
    }

    fn said_after(&self, count: usize) -> Vec<Said> {
        let said = |(at, said): (usize, dingtalk::Said)| {
            let content = said.content.as_str().or(said.content["text"].as_str());
            Said { at, text: content.unwrap_or_default().to_owned(), labels: Vec::new() }
        };
        (count..).zip(DingTalk::said_after(self, count)).map(said).collect()
    }

    fn has_buttons(&self) -> bool {
        false
    }

    fn press(&self, _: usize, _: &Said, _: &str) {
        panic!("DingTalk has no buttons");
    }

    fn files(&self) -> Vec<(Option<String>, Vec<u8>)> {
        let files = DingTalk::said(self).into_iter().filter(|said| said.kind == "sampleFile");
        let file = |said: dingtalk::Said| {
            let bytes = self.file(said.content["mediaId"].as_str()?)?;
            Some((Some(text(&said.content["fileName"])), bytes))
        };
        files.filter_map(file).collect()
    }

    fn refused(&self) -> Vec<String> {
        self.refusals()
    }

    fn cut(&self) {
        DingTalk::cut(self);
    }

    fn redeliver(&self) {
        DingTalk::redeliver(self, false);
    }

    fn repeat(&self, last: usize) {
        DingTalk::repeat(self, last);
    }

    fn is_connected(&self) -> bool {
        self.connections() > 0
    }

    fn fail(&self) {
        self.fail_next(Fault::TakeAndCut);
        self.fail_next(Fault::TooFast(None));
    }

    fn hang(&self) {
        self.fail_next(Fault::TakeAndHang);
    }

    fn has_keys(&self) -> bool {
        false
    }
}

impl Messenger for WeCom {
    fn kind(&self) -> &'static str {
        "wecom"
    }

    fn setup(&self) -> Value {
        WeCom::setup(self)
    }

    fn say(&self, person: usize, text: &str) {
        WeCom::say(self, &user(person), None, text);
    }

    fn said_after(&self, count: usize) -> Vec<Said> {
        let said = |(at, said): (usize, wecom::Said)| {
            let body = &said.body;
            let texts_of = [
                &body["stream"]["content"],
                &body["markdown"]["content"],
                &body["template_card"]["main_title"]["title"],
            ];
            let found = texts_of.into_iter().find_map(Value::as_str).unwrap_or_default().to_owned();
            Said { at, text: found, labels: texts(&body["template_card"]["button_list"], "/text") }
        };
        (count..).zip(WeCom::said_after(self, count)).map(said).collect()
    }

    fn has_buttons(&self) -> bool {
        true
    }

    fn press(&self, person: usize, said: &Said, label: &str) {
        let card = WeCom::said(self)[said.at].body["template_card"].clone();
        WeCom::press(self, &user(person), None, &card, label);
    }

    fn files(&self) -> Vec<(Option<String>, Vec<u8>)> {
        let said = WeCom::said(self).into_iter();
        let files = said.filter_map(|said| self.upload(said.body["file"]["media_id"].as_str()?));
        files.map(|(announced, bytes)| (Some(text(&announced["filename"])), bytes)).collect()
    }

    fn refused(&self) -> Vec<String> {
        self.refusals()
    }

    fn cut(&self) {
        WeCom::cut(self);
    }

    fn repeat(&self, last: usize) {
        WeCom::repeat(self, last);
    }

    fn fail(&self) {
        self.fail_next(Fault::TakeAndCut);
        self.fail_next(Fault::TooFast(None));
    }

    fn hang(&self) {
        self.fail_next(Fault::TakeAndHang);
    }

    fn has_keys(&self) -> bool {
        false
    }

    fn replays(&self) -> bool {
        false
    }

    fn is_connected(&self) -> bool {
        self.connections() > 0
    }

    fn is_stored(&self) -> bool {
        let ping = self.ping();
        answered(|| self.is_answered(ping), || self.is_connected())
    }
}
