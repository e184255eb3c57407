use super::*;

fn settings(dotenv: &str, json: &str, environment: &[(&str, &str)]) -> Settings {
    Settings::parse(dotenv, json, environment.iter().copied()).unwrap()
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
        ("node_url", "ftp://x", "http://HOST"),
        ("node_url", "http://x", "share a PostgreSQL database"),
        ("peer_listen", "127.0.0.1:0", "--node-url"),
        ("drain", "60", "a number with s or m"),
        ("drain", "0s", "from 1s to 60m"),
        ("drain", "61m", "from 1s to 60m"),
        ("drain", "é", "a number with s or m"),
        ("handed_max_mib", "4 GiB", "a number of MiB"),
        ("handed_max_mib", "0", "a number of MiB"),
        ("handed_max_mib", "99999999999999999", "a number of MiB"),
    ] {
        let settings = settings("", &format!("{{\"{key}\":\"{value}\"}}"), &[]);
        let error = config(ServeArgs::default(), &settings).unwrap_err().to_string();
        assert!(error.contains(rule), "{error}");
    }
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
    assert_eq!(unknown_keys(&settings("", json, &[])), ["home", "listne"]);
}
