//! Feishu, OneBot 11, QQ, DingTalk and WeCom.

use std::sync::Mutex;

use serde_json::{Value, json};
use tests::platforms::dingtalk::{self, DingTalk};
use tests::platforms::feishu::{self, Feishu};
use tests::platforms::lines::Fault;
use tests::platforms::onebot::{self, OneBot};
use tests::platforms::qq::{self, Qq};
use tests::platforms::wecom::{self, WeCom};

use super::messenger::{Messenger, Said, text, texts};

fn user(person: usize) -> String {
    format!("ann{person}")
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

    fn said(&self) -> Vec<Said> {
        let said = |(at, card): (usize, feishu::Card)| {
            let elements = &card.content["body"]["elements"];
            let title = text(&card.content["header"]["title"]["content"]);
            let shown = std::iter::once(title).chain(texts(elements, "/content"));
            let shown: Vec<String> = shown.filter(|text| !text.is_empty()).collect();
            Said { at, text: shown.join("\n"), labels: texts(elements, "/text/content") }
        };
        self.cards().into_iter().enumerate().map(said).collect()
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
        let is_small = self.deliveries().len() < 500;
        Feishu::redeliver(self, is_small);
    }

    fn fail(&self) {
        self.fail_next(Fault::TakeAndCut);
        self.fail_next(Fault::TooFast(Some(1)));
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

    fn said(&self) -> Vec<Said> {
        let said = |(at, said): (usize, onebot::Said)| Said { at, text: said.text, labels: Vec::new() };
        OneBot::said(self).into_iter().enumerate().map(said).collect()
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

    fn redeliver(&self) {
        // OneBot redelivers nothing.
    }

    fn fail(&self) {
        self.fail_next(Fault::TakeAndCut);
    }

    fn replays(&self) -> bool {
        false
    }
}

/// QQ's stand-in, whether the bot may send Markdown and buttons, and the last message to the bot.
pub(super) struct Qqs {
    stand_in: Qq,
    has_markdown: bool,
    last: Mutex<Option<(String, Value)>>,
}

impl Qqs {
    pub(super) fn start(has_markdown: bool) -> Self {
        Self { stand_in: Qq::start(), has_markdown, last: Mutex::default() }
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
        let (kind, body) = self.stand_in.event(&user(person), None, text);
        *self.last.lock().unwrap() = Some((kind.clone(), body.clone()));
        self.stand_in.dispatch(&kind, body);
    }

    fn said(&self) -> Vec<Said> {
        let said = |(at, said): (usize, qq::Said)| {
            let content = said.body["markdown"]["content"].as_str().or(said.body["content"].as_str());
            let rows = said.body["keyboard"]["content"]["rows"].as_array().cloned().unwrap_or_default();
            let labels = rows.iter().flat_map(|row| texts(&row["buttons"], "/render_data/label")).collect();
            Said { at, text: content.unwrap_or_default().to_owned(), labels }
        };
        self.stand_in.said().into_iter().enumerate().map(said).collect()
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

    fn redeliver(&self) {
        if let Some((kind, body)) = self.last.lock().unwrap().clone() {
            self.stand_in.dispatch(&kind, body);
        }
    }

    fn fail(&self) {
        self.stand_in.fail_next(Fault::TakeAndCut);
        self.stand_in.fail_next(Fault::TooFast(Some(1)));
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

    fn said(&self) -> Vec<Said> {
        let said = |(at, said): (usize, dingtalk::Said)| {
            let content = said.content.as_str().or(said.content["text"].as_str());
            Said { at, text: content.unwrap_or_default().to_owned(), labels: Vec::new() }
        };
        DingTalk::said(self).into_iter().enumerate().map(said).collect()
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
        let is_small = self.acknowledged() < 500;
        DingTalk::redeliver(self, is_small);
    }

    fn fail(&self) {
        self.fail_next(Fault::TakeAndCut);
        self.fail_next(Fault::TooFast(None));
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

    fn said(&self) -> Vec<Said> {
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
        WeCom::said(self).into_iter().enumerate().map(said).collect()
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

    fn redeliver(&self) {
        // WeCom redelivers nothing.
    }

    fn fail(&self) {
        self.fail_next(Fault::TakeAndCut);
        self.fail_next(Fault::TooFast(None));
    }

    fn replays(&self) -> bool {
        false
    }
}
