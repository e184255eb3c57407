use super::*;

fn shown(markdown: &str) -> String {
    Styled::markdown(markdown).text()
}

fn styles(markdown: &str) -> Vec<(String, Style)> {
    Styled::markdown(markdown).pieces.into_iter().map(|piece| (piece.text, piece.style)).collect()
}

#[test]
fn blocks_are_apart_and_lists_are_not() {
    assert_eq!(
        shown("# Title\n\ntext\nmore\n\n- a\n- b\n  1. c\n  2. d\n\nend"),
        "Title\n\ntext\nmore\n\n• a\n• b\n  1. c\n  2. d\n\nend"
    );
}

#[test]
fn a_loose_list_begins_behind_its_marks() {
    assert_eq!(shown("1. a\n\n2. b"), "1. a\n2. b");
}

#[test]
fn marks_become_styles() {
    let bold = Style { bold: true, ..Style::default() };
    let code = Style { code: true, ..Style::default() };
    assert_eq!(
        styles("a **b** `c`"),
        [
            ("a ".to_owned(), Style::default()),
            ("b".to_owned(), bold),
            (" ".to_owned(), Style::default()),
            ("c".to_owned(), code)
        ]
    );
}

#[test]
fn code_keeps_its_language_and_no_marks() {
    let pieces = styles("```rust ignore\nlet **x** = 1;\n```");
    assert_eq!(pieces[0].0, "let **x** = 1;");
    assert_eq!(pieces[0].1.place, Place::Code("rust".to_owned()));
}

#[test]
fn a_picture_and_a_path_are_no_links() {
    let pieces = styles("![pic](/etc/passwd) [x](file:///etc/passwd) [y](https://example.org)");
    assert_eq!(pieces[0].0, "pic x ");
    assert_eq!(pieces[0].1.link, None);
    assert_eq!(pieces[1].1.link.as_deref(), Some("https://example.org"));
}

#[test]
fn a_table_is_aligned_by_cells() {
    assert_eq!(shown("| a | 名字 |\n|---|---|\n| long | b |"), "a    | 名字\nlong | b");
}

#[test]
fn html_is_text() {
    assert_eq!(shown("<b>x</b> <script>"), "<b>x</b> <script>");
}

#[test]
fn control_characters_are_left_out() {
    assert_eq!(Styled::plain("a\u{1b}[31mb\r\n\0c").text(), "a[31mb\nc");
}
