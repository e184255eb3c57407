use std::fs;

use super::settings::parse_dotenv;
use super::*;

fn settings(dotenv: &str, json: &str, environment: &[(&str, &str)]) -> Settings {
    Settings {
        dotenv: parse_dotenv(dotenv).unwrap(),
        json: serde_json::from_str(json).unwrap(),
        environment: environment
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect(),
    }
}

fn config(options: ServeArgs, settings: &Settings) -> Result<Config, ConfigError> {
    Config::from_settings(options, Path::new("/home"), settings)
}

#[test]
fn a_later_source_wins_over_an_earlier_one() {
    let dotenv = "# ours\nexport SANDBRIDGE_LISTEN='a:1'\nSANDBRIDGE_LOCAL = admins\n";
    let only = settings(dotenv, "{}", &[]);
    assert_eq!(config(ServeArgs::default(), &only).unwrap().listen, "a:1");
    let with_json = settings(dotenv, r#"{"listen":"b:2"}"#, &[]);
    assert_eq!(with_json.value("listen").unwrap(), "b:2");
    let with_environment = settings(dotenv, r#"{"listen":"b:2"}"#, &[("SANDBRIDGE_LISTEN", "c:3")]);
    assert_eq!(with_environment.value("listen").unwrap(), "c:3");
    let flag = ServeArgs { listen: Some("d:4".to_owned()), ..ServeArgs::default() };
    assert_eq!(config(flag, &with_environment).unwrap().listen, "d:4");
}

#[test]
fn an_empty_variable_is_no_value() {
    let settings = settings("", r#"{"listen":"b:2"}"#, &[("SANDBRIDGE_LISTEN", "")]);
    assert_eq!(settings.value("listen").unwrap(), "b:2");
}

#[test]
fn a_list_is_read_from_json_and_from_text() {
    let from_json = settings("", r#"{"allow_host":["A.example","b.example"]}"#, &[]);
    let from_text = settings("", "{}", &[("SANDBRIDGE_ALLOW_HOST", "a.example, b.example")]);
    for settings in [from_json, from_text] {
        assert_eq!(config(ServeArgs::default(), &settings).unwrap().allow_host, ["a.example", "b.example"]);
    }
}

#[test]
fn wrong_values_are_named_with_what_would_be_right() {
    for (key, value, rule) in [
        ("docker", "maybe", "on, off or auto"),
        ("public_url", "ftp://x", "http://HOST"),
        ("public_url", "https://x/path", "without a path"),
        ("tls_cert", "c.pem", "needs a certificate and a key"),
        ("local", "admins,bob", "off, admins, or users' names"),
        ("local", "BAD!!", "off, admins, or users' names"),
        ("require", "landlok", "use confined, or layers"),
    ] {
        let settings = settings("", &format!("{{\"{key}\":\"{value}\"}}"), &[]);
        let error = config(ServeArgs::default(), &settings).unwrap_err().to_string();
        assert!(error.contains(rule), "{error}");
    }
}

#[test]
fn a_line_of_dotenv_that_is_no_pair_is_named() {
    assert_eq!(parse_dotenv("A=1\nwhat\n").unwrap_err(), "line 2 is not KEY=VALUE");
}

#[test]
fn a_home_without_a_parent_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let error = ensure_home(&folder.path().join("a/b")).unwrap_err().to_string();
    assert!(error.contains("does not exist; make it, or pass --home DIR"), "{error}");
    ensure_home(&folder.path().join("a")).unwrap();
    assert_eq!(fs::metadata(folder.path().join("a")).unwrap().mode() & 0o777, 0o700);
}

#[test]
fn true_in_json_is_no_policy_for_local_work() {
    let error =
        config(ServeArgs::default(), &settings("", r#"{"local":true}"#, &[])).unwrap_err().to_string();
    assert!(error.contains("the option local cannot be \"on\""), "{error}");
}

#[test]
fn keys_that_mean_nothing_are_named() {
    let json =
        r#"{"listen":"a:1","listne":"b:2","server":"http://x","ca_cert":"c","allow_host":[],"home":"h"}"#;
    assert_eq!(settings("", json, &[]).unknown_keys(), ["home", "listne"]);
}

#[test]
fn a_home_where_nothing_can_be_made_does_not_blame_its_parent() {
    let error = ensure_home(Path::new("/proc/sandbridge-home")).unwrap_err().to_string();
    assert!(error.starts_with("cannot use the home directory /proc/sandbridge-home"), "{error}");
}

#[test]
fn a_home_that_is_a_file_is_refused() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let error = ensure_home(file.path()).unwrap_err().to_string();
    assert!(error.contains("it is not a directory"), "{error}");
}
