//! A server's questions to its user (elicitation): the fields of a form, one question after the other, or an address to
//! open.

use agent::tool::{Phrase, Question, visible};
use rmcp::model::{ElicitRequestParams, ElicitResult, ElicitationAction};
use serde_json::{Map, Number, Value};

use crate::limits::{MCP_FIELD_CHOICES, MCP_FIELD_TRIES, MCP_FIELDS, MCP_QUESTION_CHARS};

pub(super) const DECLINE: &str = "Decline";
const SKIP: &str = "Skip";
const YES: &str = "Yes";
const NO: &str = "No";
const DEFAULT: &str = "Use the suggested value";
const DONE: &str = "I have done that";

/// Asks a user one question, with answers to choose from; `None` if the user does not answer.
pub(super) trait Asker {
    async fn ask(&self, question: &Question) -> Option<String>;
}

/// Asks the user for the information that a server wants.
pub(super) async fn ask(asker: &impl Asker, server: &str, request: &ElicitRequestParams) -> ElicitResult {
    let answer = match request {
        ElicitRequestParams::FormElicitationParams { message, requested_schema, .. } => {
            let schema = serde_json::to_value(requested_schema).unwrap_or_default();
            let order = requested_schema.property_order.as_deref().unwrap_or_default();
            form(asker, server, message, &schema, order).await
        }
        ElicitRequestParams::UrlElicitationParams { message, url, .. } => {
            address(asker, server, message, url).await
        }
        _ => Err(ElicitationAction::Decline),
    };
    match answer {
        Ok(Some(content)) => ElicitResult::new(ElicitationAction::Accept).with_content(content),
        Ok(None) => ElicitResult::new(ElicitationAction::Accept),
        Err(action) => ElicitResult::new(action),
    }
}

async fn address(
    asker: &impl Asker,
    server: &str,
    message: &str,
    url: &str,
) -> Result<Option<Value>, ElicitationAction> {
    // Other schemes, such as `javascript:`, are not pages.
    let Ok(parsed) = guard::check_text(url) else { return Err(ElicitationAction::Decline) };
    let host = visible::line(parsed.host_str().unwrap_or_default());
    let text = vec![
        Phrase::ours(format!("The MCP server {} asks you to open a page on {host}:", visible::line(server))),
        Phrase::theirs(format!(" {}\n\n{}\n\n", shortened(message), visible::line(parsed.as_str()))),
        Phrase::ours("Open it only if you trust this server."),
    ];
    let question = Question { text, options: [DONE, DECLINE].map(Phrase::ours).to_vec() };
    match asker.ask(&question).await.as_deref() {
        Some(DONE) => Ok(None),
        Some(_) => Err(ElicitationAction::Decline),
        None => Err(ElicitationAction::Cancel),
    }
}

async fn form(
    asker: &impl Asker,
    server: &str,
    message: &str,
    schema: &Value,
    order: &[String],
) -> Result<Option<Value>, ElicitationAction> {
    let empty = Map::new();
    let fields = schema.get("properties").and_then(Value::as_object).unwrap_or(&empty);
    if fields.len() > MCP_FIELDS {
        return Err(ElicitationAction::Decline);
    }
    let required: Vec<&str> = schema
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let head = [
        Phrase::ours(format!("The MCP server {} asks:", visible::line(server))),
        Phrase::theirs(format!(" {}\n\n", shortened(message))),
    ];
    let mut content = Map::new();
    if fields.is_empty() {
        let mut text = head.to_vec();
        text.push(Phrase::ours("Do you agree?"));
        let question = Question { text, options: [YES, DECLINE].map(Phrase::ours).to_vec() };
        return match asker.ask(&question).await.as_deref() {
            Some(YES) => Ok(Some(Value::Object(content))),
            Some(_) => Err(ElicitationAction::Decline),
            None => Err(ElicitationAction::Cancel),
        };
    }
    // In the server's own order, which the schema's map loses.
    let mut fields: Vec<(&String, &Value)> = fields.iter().collect();
    fields.sort_by_key(|(name, _)| order.iter().position(|known| known == *name));
    for (name, schema) in fields {
        let field = Field::of(name, schema, required.contains(&name.as_str()));
        if let Some(value) = field.asked(asker, &head).await? {
            content.insert(name.clone(), value);
        }
    }
    Ok(Some(Value::Object(content)))
}

/// A server's own text, quoted so that none of its lines can pass for one of ours, and short enough not to push others
/// out of sight.
fn shortened(text: &str) -> String {
    quoted(&text.chars().take(MCP_QUESTION_CHARS).collect::<String>())
}

/// A server's own text, quoted like [`shortened`], without a limit on its length.
pub(super) fn quoted(text: &str) -> String {
    visible::whole(text).lines().collect::<Vec<_>>().join("\n  | ")
}

/// A field of a form.
struct Field<'a> {
    name: &'a str,
    schema: &'a Value,
    is_required: bool,
    /// The values to choose from, with their labels.
    choices: Vec<(Phrase, Value)>,
}

impl<'a> Field<'a> {
    fn of(name: &'a str, schema: &'a Value, is_required: bool) -> Self {
        Self { name, schema, is_required, choices: choices(schema) }
    }

    fn text(&self, name: &str) -> Option<&str> {
        self.schema.get(name)?.as_str()
    }

    fn kind(&self) -> &str {
        self.text("type").unwrap_or("string")
    }

    /// Asks until there is a valid value; `None` for an optional field that was skipped.
    async fn asked(&self, asker: &impl Asker, head: &[Phrase]) -> Result<Option<Value>, ElicitationAction> {
        let mut options: Vec<Phrase> = match self.choices.len() {
            0..=MCP_FIELD_CHOICES => self.choices.iter().map(|(label, _)| label.clone()).collect(),
            _ => Vec::new(),
        };
        if self.default().is_some() {
            options.insert(0, Phrase::ours(DEFAULT));
        } else if !self.is_required {
            options.push(Phrase::ours(SKIP));
        }
        options.push(Phrase::ours(DECLINE));
        let mut question = Question { text: [head, &self.question()].concat(), options };
        let asked = question.text.len();
        for _ in 0..MCP_FIELD_TRIES {
            match asker.ask(&question).await {
                None => return Err(ElicitationAction::Cancel),
                // A choice of the field takes precedence over our own options.
                Some(answer) if self.choices.iter().any(|(label, _)| label.words() == answer) => {
                    return self.value(&answer).map(Some).map_err(|_| ElicitationAction::Cancel);
                }
                Some(answer) if answer == DECLINE => return Err(ElicitationAction::Decline),
                Some(answer) if answer == SKIP && !self.is_required => return Ok(self.default()),
                Some(answer) if answer == DEFAULT && self.default().is_some() => return Ok(self.default()),
                Some(answer) => match self.value(answer.trim()) {
                    Ok(value) => return Ok(Some(value)),
                    Err(why) => {
                        question.text.truncate(asked);
                        question.text.push(Phrase::theirs("\n\n"));
                        question.text.push(Phrase::ours(format!("The last answer was not valid: {why}.")));
                    }
                },
            }
        }
        Err(ElicitationAction::Cancel)
    }

    fn default(&self) -> Option<Value> {
        self.schema.get("default").filter(|value| !value.is_null()).cloned()
    }

    fn question(&self) -> Vec<Phrase> {
        let mut question = vec![Phrase::theirs(shortened(self.text("title").unwrap_or(self.name)))];
        if let Some(description) = self.text("description") {
            question.push(Phrase::theirs(format!(": {}", shortened(description))));
        }
        if self.kind() == "array" {
            question.push(Phrase::ours(" (one or more, separated by commas)"));
        }
        if self.choices.len() > MCP_FIELD_CHOICES {
            let labels: Vec<&str> = self.choices.iter().map(|(label, _)| label.words()).collect();
            question.extend([Phrase::theirs("\n"), Phrase::ours("One of:")]);
            question.push(Phrase::theirs(format!(" {}", shortened(&labels.join(", ")))));
        } else if self.choices.is_empty() && self.kind() != "string" {
            question.push(Phrase::theirs(format!(" ({})", visible::line(self.kind()))));
        }
        if let Some(default) = self.schema.get("default") {
            question.push(Phrase::theirs(format!(" [{}]", shortened(&words_of(default)))));
        }
        question
    }

    /// The value of the field for an answer.
    ///
    /// Fails with the problem as text.
    fn value(&self, answer: &str) -> Result<Value, String> {
        if !self.choices.is_empty() && self.kind() != "array" {
            let chosen = self
                .choices
                .iter()
                .find(|(label, value)| label.words() == answer || words_of(value) == answer);
            return chosen
                .map(|(_, value)| value.clone())
                .ok_or_else(|| "choose one of the answers".to_owned());
        }
        match self.kind() {
            "array" => {
                let chosen: Result<Vec<Value>, String> = answer
                    .split(',')
                    .map(str::trim)
                    .filter(|word| !word.is_empty())
                    .map(|word| {
                        let found = self
                            .choices
                            .iter()
                            .find(|(label, value)| label.words() == word || words_of(value) == word);
                        found
                            .map(|(_, value)| value.clone())
                            .ok_or_else(|| format!("{word:?} is not one of the choices"))
                    })
                    .collect();
                chosen.map(Value::Array)
            }
            "integer" => {
                let number: i64 = answer.parse().map_err(|_| "write a whole number".to_owned())?;
                self.within(number.into())
            }
            "number" => {
                let number: f64 = answer.parse().map_err(|_| "write a number".to_owned())?;
                self.within(Number::from_f64(number).ok_or("write a number")?)
            }
            _ => {
                let count = answer.chars().count() as u64;
                let bound = |name: &str| self.schema.get(name).and_then(Value::as_u64);
                if bound("minLength").is_some_and(|least| count < least) {
                    return Err("it is too short".to_owned());
                }
                if bound("maxLength").is_some_and(|most| count > most) {
                    return Err("it is too long".to_owned());
                }
                Ok(Value::from(answer))
            }
        }
    }

    fn within(&self, number: Number) -> Result<Value, String> {
        let bound = |name: &str| self.schema.get(name).and_then(Value::as_f64);
        let value = number.as_f64().unwrap_or_default();
        match (bound("minimum"), bound("maximum")) {
            (Some(least), _) if value < least => Err(format!("write at least {least}")),
            (_, Some(most)) if value > most => Err(format!("write at most {most}")),
            _ => Ok(Value::Number(number)),
        }
    }
}

/// The values that a field may have, with their labels.
fn choices(schema: &Value) -> Vec<(Phrase, Value)> {
    if schema.get("type").and_then(Value::as_str) == Some("boolean") {
        return vec![(Phrase::ours(YES), Value::Bool(true)), (Phrase::ours(NO), Value::Bool(false))];
    }
    let label = |title: Option<&str>, value: &Value| {
        Phrase::theirs(visible::line(&title.map_or_else(|| words_of(value), str::to_owned)))
    };
    let list = |name: &str| schema.get(name).and_then(Value::as_array);
    if let Some(items) = schema.get("items") {
        return choices(items);
    }
    if let Some(values) = list("enum") {
        let names = list("enumNames");
        let named = |at: usize| names.and_then(|names| names.get(at)).and_then(Value::as_str);
        let choice = |(at, value): (usize, &Value)| (label(named(at), value), value.clone());
        return values.iter().enumerate().map(choice).collect();
    }
    let titled = list("oneOf").or_else(|| list("anyOf"));
    let choice = |choice: &Value| {
        let value = choice.get("const")?;
        Some((label(choice.get("title").and_then(Value::as_str), value), value.clone()))
    };
    titled.into_iter().flatten().filter_map(choice).collect()
}

fn words_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use serde_json::json;

    use super::*;

    /// Gives answers one after the other, and keeps the questions.
    struct Script(RefCell<Vec<&'static str>>, RefCell<Vec<String>>);

    impl Asker for Script {
        async fn ask(&self, question: &Question) -> Option<String> {
            // The server's own text is in angle brackets.
            let (text, options) = question.said(&|ours| format!("<{ours}>"));
            self.1.borrow_mut().push(format!("{text} {options:?}"));
            let mut answers = self.0.borrow_mut();
            (!answers.is_empty()).then(|| answers.remove(0).to_owned())
        }
    }

    fn script(answers: &[&'static str]) -> Script {
        Script(RefCell::new(answers.to_vec()), RefCell::default())
    }

    async fn asked(request: Value, answers: &[&'static str]) -> (Value, Vec<String>) {
        let request: ElicitRequestParams = serde_json::from_value(request).unwrap();
        let script = script(answers);
        let result = ask(&script, "git\u{202e}", &request).await;
        (serde_json::to_value(result).unwrap(), script.1.into_inner())
    }

    fn form_of(properties: Value, required: Value) -> Value {
        json!({"mode": "form", "message": "Who?", "requestedSchema":
            {"type": "object", "properties": properties, "required": required}})
    }

    #[tokio::test]
    async fn a_form_is_asked_field_by_field_and_checked() {
        let form = form_of(
            json!({"age": {"type": "integer", "minimum": 1, "maximum": 150},
                   "colour": {"type": "string", "enum": ["r", "g"], "enumNames": ["Red", "Green"]},
                   "mail": {"type": "string", "minLength": 3}, "sure": {"type": "boolean"}}),
            json!(["age", "colour", "sure"]),
        );
        let (result, questions) = asked(form, &["no", "200", "42", "Green", "Skip", "Yes"]).await;
        assert_eq!(result, json!({"action": "accept", "content": {"age": 42, "colour": "g", "sure": true}}));
        // Text from the server is not translated.
        let first = "<The MCP server git\\u{202e} asks:> Who?\n\nage (integer) [\"<Decline>\"]";
        assert_eq!(questions[0], first);
        assert!(
            questions[1].contains("whole number") && questions[2].contains("at most 150"),
            "{questions:?}"
        );
    }

    #[tokio::test]
    async fn fields_are_asked_in_the_order_of_their_server() {
        let text = r#"{"mode": "form", "message": "Who?", "requestedSchema": {"type": "object", "properties":
            {"name": {"type": "string"}, "age": {"type": "integer"}}, "required": ["name", "age"]}}"#;
        let request: ElicitRequestParams = serde_json::from_str(text).unwrap();
        let script = script(&["Ada", "36"]);
        let result = ask(&script, "s", &request).await;
        assert_eq!(serde_json::to_value(result).unwrap()["content"], json!({"age": 36, "name": "Ada"}));
        let asked = script.1.into_inner();
        assert!(asked[0].contains("name") && asked[1].contains("age (integer)"), "{asked:?}");
    }

    #[tokio::test]
    async fn nobody_and_no_are_told_apart() {
        let form = || form_of(json!({"x": {"type": "string"}}), json!(["x"]));
        assert_eq!(asked(form(), &[]).await.0, json!({"action": "cancel"}));
        assert_eq!(asked(form(), &["Decline"]).await.0, json!({"action": "decline"}));
        let number = form_of(json!({"x": {"type": "number"}}), json!(["x"]));
        assert_eq!(asked(number, &["a", "b", "c", "1"]).await.0, json!({"action": "cancel"}), "3 tries");
        let many: Map<String, Value> =
            (0..=MCP_FIELDS).map(|at| (format!("f{at}"), json!({"type": "string"}))).collect();
        assert_eq!(asked(form_of(many.into(), json!([])), &["a"]).await.0, json!({"action": "decline"}));
    }

    #[tokio::test]
    async fn an_address_is_shown_with_its_host_and_only_pages_are() {
        let url = |url: &str| json!({"mode": "url", "message": "Log in", "url": url, "elicitationId": "1"});
        let (result, questions) = asked(url("https://a.example/x?y=1"), &["I have done that"]).await;
        assert_eq!(result, json!({"action": "accept"}));
        assert!(
            questions[0].contains("a page on a.example") && questions[0].contains("/x?y=1"),
            "{questions:?}"
        );
        assert_eq!(asked(url("https://a.example"), &["Decline"]).await.0, json!({"action": "decline"}));
        for bad in ["javascript:alert(1)", "file:///etc/passwd", "https://a:b@c.example", "data:text/html,x"]
        {
            let (result, questions) = asked(url(bad), &["I have done that"]).await;
            assert_eq!((result, questions.len()), (json!({"action": "decline"}), 0), "{bad}");
        }
    }
}
