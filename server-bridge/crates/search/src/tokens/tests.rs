use super::*;

fn words(text: &str) -> String {
    document(text).words()
}

fn fts5(text: &str) -> String {
    query(text).all_fts5().unwrap_or_default()
}

#[test]
fn words_are_folded_and_identifiers_are_also_their_parts() {
    assert_eq!(words("Ｔｈｅ Café's №1 — ÇA coûte 3.14"), "the cafe s no1 ca coute 3 14");
    assert_eq!(words("Straße ŁÓDŹ Ελληνικός Ёлка"), "strasse lodz ελληνικοσ елка");
    let code = document("parseHTTPRequest snake_case_v2 __init__ iPhone");
    assert_eq!(code.words(), "parse http request snake case v2 init i phone");
    assert_eq!(code.others(), "parsehttprequest pars snakecasev2 iphone");
    let english = document("He was deploying the services");
    assert_eq!(english.words(), "he was deploying the services");
    assert_eq!(english.others(), "wa deploi servic");
}

#[test]
fn scripts_without_spaces_are_pairs_and_the_last_character() {
    assert_eq!(words("记忆系统"), "记忆 忆系 系统 统");
    assert_eq!(words("記憶體，臺灣"), "记忆 忆体 体 台湾 湾");
    assert_eq!(words("我的Rust代码"), "我的 的 rust 代码 码");
    assert_eq!(words("的"), "的");
    assert_eq!(words("ｶﾞﾀｶﾅー한국어"), "ガタ タカ カナ ナー ー한 한국 국어 어");
    assert_eq!(words("👍🏽 ok 👨‍👩‍👧"), "👍 ok 👨 👩 👧");
}

#[test]
fn a_query_is_a_phrase_for_each_term() {
    assert_eq!(fts5("记忆系统"), r#"{words others} : (("记忆 忆系 系统"))"#);
    assert_eq!(fts5("記"), r#"{words others} : (("记" *))"#);
    assert_eq!(fts5("我的Rust"), r#"{words others} : (("我的 的 rust" *))"#);
    assert_eq!(
        fts5("Deployed parseHttp"),
        r#"{words others} : (("deployed" * OR "deploi") AND ("parse http" * OR "parsehttp" *))"#
    );
    assert_eq!(
        query("Deployed 记忆系统").tsqueries(),
        ["'deployed':* | '=deployed':* | '=deploi' | 'deploi'", "('记忆' <-> '忆系' <-> '系统')"]
    );
    assert_eq!(
        query("using 怎样删除").any_fts5().unwrap(),
        r#"{words others} : ("using" OR others : "us" OR "怎样" OR "样删" OR "删除")"#
    );
    assert_eq!(query("us 除").any_tsquery().unwrap(), "'us' | '=us' | '除':* | '=除'");
}

#[test]
fn a_query_has_no_syntax() {
    for text in [
        "\" OR 1 --",
        "a NEAR(b) ^c",
        "words : x",
        "a' & !b | c:*",
        "-x",
        "{owner} : u1",
        "\\'; DROP TABLE x",
        "* \" ( ) :",
    ] {
        let query = query(text);
        for made in [query.all_fts5(), query.any_fts5()].into_iter().flatten() {
            let texts: Vec<_> = made.split('"').skip(1).step_by(2).collect();
            assert!(texts.iter().all(|text| text.chars().all(|c| c.is_alphanumeric() || c == ' ')), "{made}");
        }
        for made in query.tsqueries() {
            let texts: Vec<_> = made.split('\'').skip(1).step_by(2).collect();
            assert!(texts.iter().all(|text| text.chars().all(|c| c.is_alphanumeric() || c == '=')), "{made}");
        }
    }
    for nothing in ["", " \t\n", "%", "\\ ''", "……。", "\u{200b}\u{300}"] {
        assert!(query(nothing).is_empty(), "{nothing:?}");
        assert_eq!((query(nothing).all_fts5(), query(nothing).any_tsquery()), (None, None));
        assert!(document(nothing).is_empty());
        assert_eq!(document(nothing).tsvectors(), [""]);
    }
}

#[test]
fn long_texts_are_bounded() {
    for text in [
        "x".repeat(100_000),
        "x ".repeat(50_000),
        "记".repeat(40_000),
        "🎉".repeat(25_000),
        "aB".repeat(50_000),
    ] {
        let query = query(&text);
        assert!(query.terms.len() <= 32 && query.terms.iter().all(|term| term.words.len() <= 200));
        assert!(query.choices().len() <= 64);
        let document = document(&text);
        for part in document.tsvectors() {
            assert!(part.len() < 1024 * 1024, "{}", part.len());
        }
        assert!(document.words.iter().all(|word| word.len() <= TOKEN_MAX_BYTES && !word.is_empty()));
    }
}

#[test]
fn tsvectors_overlap_by_a_phrase() {
    let text: String = (0..5_000).map(|number| format!("w{number} ")).collect();
    let parts = document(&text).tsvectors();
    assert_eq!(parts.len(), 3);
    assert!(
        parts[0].contains("'w1999':2000") && parts[1].contains("'w1800':1 ") && parts[2].contains("'w4999':")
    );
    assert_eq!(document("a services a").tsvectors(), ["'a':1,3 'services':2 '=servic'"]);
}

#[test]
fn every_simplified_character_is_its_own() {
    let table = include_str!("simplified.txt");
    assert!(table.lines().count() > 2_500);
    for pair in table.lines() {
        let [_, new]: [char; 2] = pair.chars().collect::<Vec<_>>().try_into().unwrap();
        let again = words(&new.to_string());
        assert_eq!(words(pair), format!("{again}{again} {again}"), "{pair}");
    }
}
