//! `/usage`: shows the tokens and costs of models.

use std::collections::BTreeMap;

use store::{TurnUsage, UsageRow};
use unicode_width::UnicodeWidthStr;

use super::{Command, Context};
use crate::limits::USAGE_DAYS;
use crate::{Posted, Result};

pub(super) const COMMAND: Command = Command {
    word: "usage",
    usage: &[("/usage", "tokens and cost of this chat, of today and of the last 30 days")],
    run: |context, _| Box::pin(run(context)),
};

async fn run(context: &Context<'_>) -> Result<Posted> {
    let store = &context.service.store;
    let (user, today) = (context.user.id, store.today());
    let here = store.usage(user, Some(&context.chat.id), 0).await?;
    let month = store.usage(user, None, today - USAGE_DAYS + 1).await?;
    context.notice_as_it_is(&text(&here, &month, today, &|text| context.in_words(text))).await
}

fn text(here: &[UsageRow], month: &[UsageRow], today: i64, say: &dyn Fn(&str) -> String) -> String {
    let mut lines = vec![["", "requests", "input", "of which cached", "output", "cost"].map(say)];
    lines.push(line(&say("this chat"), here));
    lines.push(line(&say("today (UTC)"), month.iter().filter(|row| row.day == today)));
    lines.push(line(&say(&format!("{USAGE_DAYS} days")), month));
    let mut by_model: BTreeMap<String, Vec<&UsageRow>> = BTreeMap::new();
    for row in month {
        by_model.entry(format!("{}/{}", row.subscription, row.model)).or_default().push(row);
    }
    lines.extend(by_model.iter().map(|(model, rows)| line(&format!("  {model}"), rows.iter().copied())));
    aligned(&lines)
}

fn line<'a>(what: &str, rows: impl IntoIterator<Item = &'a UsageRow>) -> [String; 6] {
    let mut calls = 0;
    let mut sum = TurnUsage::default();
    for UsageRow { calls: more, usage, .. } in rows {
        calls += more;
        sum.input_tokens += usage.input_tokens;
        sum.cache_read_tokens += usage.cache_read_tokens;
        sum.output_tokens += usage.output_tokens;
        sum.cost_micros += usage.cost_micros;
    }
    // If no price is known, no cost is shown.
    let cost = if sum.cost_micros == 0 { "–".to_owned() } else { dollars(sum.cost_micros) };
    let [calls, read, cached, written] =
        [calls, sum.input_tokens, sum.cache_read_tokens, sum.output_tokens].map(thousands);
    [what.to_owned(), calls, read, cached, written, cost]
}

fn dollars(micros: i64) -> String {
    format!("${:.4}", micros as f64 / 1_000_000.0)
}

fn thousands(number: i64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Aligns the columns of a table: names left, numbers right.
fn aligned(lines: &[[String; 6]]) -> String {
    let width = |column: usize| lines.iter().map(|line| line[column].width()).max().unwrap_or(0);
    let widths: [usize; 6] = std::array::from_fn(width);
    let room = |cell: &str, column: usize| " ".repeat(widths[column] - cell.width());
    let line = |cells: &[String; 6]| {
        let [first, rest @ ..] = cells;
        let rest = (1..).zip(rest).map(|(column, cell)| format!("  {}{cell}", room(cell, column)));
        format!("{first}{}{}", room(first, 0), rest.collect::<String>())
    };
    lines.iter().map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(day: i64, model: &str, tokens: i64, cost_micros: i64) -> UsageRow {
        let usage = TurnUsage { input_tokens: tokens, output_tokens: 1, cost_micros, ..TurnUsage::default() };
        UsageRow { day, subscription: "server".to_owned(), model: model.to_owned(), calls: 1, usage }
    }

    #[test]
    fn what_models_took_is_told_by_chat_day_and_model() {
        let month = [row(9, "big", 1_234_567, 42_000), row(8, "big", 1, 1_000), row(8, "small", 5, 0)];
        let told = text(&month[1..2], &month, 9, &str::to_owned);
        let lines: Vec<Vec<&str>> = told.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(lines[1], ["this", "chat", "1", "1", "0", "1", "$0.0010"]);
        assert_eq!(lines[2], ["today", "(UTC)", "1", "1,234,567", "0", "1", "$0.0420"]);
        assert_eq!(lines[3], ["30", "days", "3", "1,234,573", "0", "3", "$0.0430"]);
        assert_eq!(lines[4], ["server/big", "2", "1,234,568", "0", "2", "$0.0430"]);
        assert_eq!(lines[5], ["server/small", "1", "5", "0", "1", "–"]);
        let wide = text(&month[1..2], &month, 9, &|text| "汉".repeat(text.len()));
        let widths: Vec<usize> = wide.lines().map(UnicodeWidthStr::width).collect();
        assert!(widths.iter().all(|width| *width == widths[0]), "{wide}");
    }
}
